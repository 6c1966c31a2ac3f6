package main

import (
	"context"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
)

// waitingService is server.Waiting.
type waitingService struct{ *backend }

func (b waitingService) Cancel(ctx context.Context, caller server.Caller, id, prompt string) (protocol.Receipt, error) {
	return b.revised(ctx, caller, commandCancel, id, prompt, nil, func(ctx context.Context, by session.Origin) error {
		_, err := b.sessions.Cancel(ctx, by, id, prompt)
		return err
	})
}

func (b waitingService) Change(ctx context.Context, caller server.Caller, id, prompt string, change protocol.ChangePrompt) (protocol.Receipt, error) {
	revision := session.Revision{Delivery: session.Delivery(change.Delivery), Before: change.Before}
	if change.Prompt != nil {
		body := kernelPrompt(*change.Prompt)
		revision.Prompt = &body
	}
	return b.revised(ctx, caller, commandRevise, id, prompt, change, func(ctx context.Context, by session.Origin) error {
		_, err := b.sessions.Revise(ctx, by, id, prompt, revision)
		return err
	})
}

// revised carries out a command on a prompt and answers the prompt as it is then.
func (b waitingService) revised(ctx context.Context, caller server.Caller, command, id, prompt string, body any,
	run func(ctx context.Context, by session.Origin) error) (protocol.Receipt, error) {
	_, err := b.once(ctx, caller, command, id, []any{id, prompt, body}, func(ctx context.Context, by session.Origin) (int64, error) {
		return -1, run(ctx, by)
	})
	if err != nil {
		return protocol.Receipt{}, wireError(err)
	}
	cursor, err := b.head(ctx, id)
	if err != nil {
		return protocol.Receipt{}, wireError(err)
	}
	input, err := b.sessions.Input(ctx, prompt)
	return wireReceipt(input, cursor), wireError(err)
}

// reportService is server.Reports.
type reportService struct{ *backend }

func (b reportService) Children(ctx context.Context, id string) (protocol.SessionList, error) {
	children, err := b.sessions.Children(ctx, id)
	if err != nil {
		return protocol.SessionList{}, wireError(err)
	}
	list := protocol.SessionList{Sessions: make([]protocol.Session, len(children))}
	for i, child := range children {
		if list.Sessions[i], err = b.show(ctx, child, ""); err != nil {
			return protocol.SessionList{}, wireError(err)
		}
	}
	return list, nil
}

func (b reportService) Usage(ctx context.Context, id string) (protocol.SessionUsage, error) {
	cursor, err := b.head(ctx, id)
	if err != nil {
		return protocol.SessionUsage{}, wireError(err)
	}
	totals, err := b.sessions.Totals(ctx, id)
	return protocol.SessionUsage{SessionID: id, Usage: protocol.Usage(totals.Usage), CostNano: totals.CostNano, Unpriced: totals.Unpriced,
		Turns: totals.Turns, Cursor: cursor}, wireError(err)
}
