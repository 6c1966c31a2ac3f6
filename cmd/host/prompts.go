package main

import (
	"context"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// promptService is server.Prompts.
type promptService struct{ *backend }

func (b promptService) Admit(ctx context.Context, caller server.Caller, id string, prompt protocol.Prompt) (protocol.Receipt, error) {
	message := prompt.ID
	if message == "" {
		message = idOf(session.PrefixMessage, caller)
	}
	request := session.PromptRequest{
		ID: message, Session: id, Prompt: kernelPrompt(prompt.PromptBody), Delivery: session.Delivery(prompt.Delivery),
		AdmitOnly: prompt.Resume != nil && !*prompt.Resume,
	}
	if !expands(prompt) {
		input, err := b.sessions.Admit(ctx, origin(caller), request)
		if err != nil {
			return protocol.Receipt{}, keyedError(caller, prompt.ID, err)
		}
		return wireReceipt(input, b.cursor(input.Admitted)), nil
	}
	input, err := b.admitExpanded(ctx, caller, request, prompt)
	if err != nil {
		return protocol.Receipt{}, keyedError(caller, prompt.ID, err)
	}
	receipt := wireReceipt(input, b.cursor(input.Admitted))
	receipt.Expanded = wireExpanded(input.Prompt)
	return receipt, nil
}

func (b promptService) Inbox(ctx context.Context, id string) (protocol.Inbox, error) {
	cursor, err := b.head(ctx, id)
	if err != nil {
		return protocol.Inbox{}, wireError(err)
	}
	pending, err := b.sessions.Inbox(ctx, id)
	if err != nil {
		return protocol.Inbox{}, wireError(err)
	}
	inbox := protocol.Inbox{Pending: make([]protocol.Receipt, len(pending)), Cursor: cursor}
	for i, input := range pending {
		inbox.Pending[i] = wireReceipt(input, b.cursor(input.Admitted))
	}
	return inbox, nil
}

// waitPage is how many events Wait reads at once.
const waitPage = 256

// Wait follows the log from the admission to the end of the activity that took
// the prompt; one that is cancelled is a conflict. An activity that could not begin, for
// lack of context or of budget, is an answer too: the prompt is still pending then.
func (b promptService) Wait(ctx context.Context, id, message string) (protocol.PromptResult, error) {
	defer b.sessions.Reading(id)()
	input, err := b.sessions.Input(ctx, message)
	if err != nil {
		return protocol.PromptResult{}, wireError(err)
	}
	tail := store.NewTail(b.log, id, input.Admitted)
	defer tail.Close()
	promoted, followed := int64(-1), progress{prompt: message}
	for {
		page, err := tail.Next(ctx, waitPage)
		if err != nil {
			return protocol.PromptResult{}, wireError(err)
		}
		for _, event := range page.Events {
			payload, err := session.Decode(event)
			if err != nil {
				return protocol.PromptResult{}, wireError(err)
			}
			ended, cancelled := followed.see(payload)
			if cancelled {
				return protocol.PromptResult{}, protocol.Errorf(protocol.Conflict, "the prompt %s was cancelled before the session took it", message)
			}
			if followed.promoted && promoted < 0 {
				promoted = event.Seq
			}
			if ended != nil {
				result, err := b.result(ctx, id, promoted, event.Seq, *ended)
				if len(input.Prompt.Format) > 0 {
					result.Structured = protocol.Raw(followed.structured)
				}
				return result, err
			}
		}
	}
}

// maxResultMessages bounds the messages of one result.
const maxResultMessages = 1000

func (b promptService) result(ctx context.Context, id string, promoted, ended int64, e session.ActivityEnded) (protocol.PromptResult, error) {
	result := protocol.PromptResult{Outcome: protocol.Outcome(e.Outcome), Error: wireFailure(e.Error), Cursor: b.cursor(ended)}
	if promoted < 0 {
		return result, nil
	}
	messages, err := b.sessions.Messages(ctx, id, promoted, maxResultMessages)
	if err != nil {
		return protocol.PromptResult{}, wireError(err)
	}
	var usage protocol.Usage
	for _, message := range messages {
		if message.Seq > ended {
			break
		}
		wire := wireMessage(message)
		result.Messages = append(result.Messages, wire)
		if message.Type != session.MessageAssistant {
			continue
		}
		result.Text = ""
		for _, part := range message.Parts {
			if part.Type == session.MessagePartText {
				result.Text += part.Text
			}
		}
		if u := message.Usage; u != nil {
			usage.Input += u.Input
			usage.Output += u.Output
			usage.Reasoning += u.Reasoning
			usage.CacheRead += u.CacheRead
			usage.CacheWrite += u.CacheWrite
		}
	}
	result.Usage = &usage
	return result, nil
}
