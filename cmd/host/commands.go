package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// The commands that keys can repeat beside prompts and the creation of sessions.
const (
	commandInterrupt = "interrupt"
	commandResume    = "resume"
	commandCompact   = "compact"
	commandChange    = "change"
	commandMove      = "move"
	commandCancel    = "cancel"
	commandRevise    = "revise"
	commandReply     = "reply"
)

// find answers the first event after a place that fits; ok is false when there is
// none yet. What follows from a command stands right behind its place, so little is
// read.
func (b *backend) find(ctx context.Context, id string, after int64, fits func(store.Event) (bool, error)) (found store.Event, ok bool, err error) {
	for more := true; more; {
		page, err := b.log.Read(ctx, id, after, waitPage)
		if err != nil {
			return store.Event{}, false, err
		}
		for _, event := range page.Events {
			if ok, err := fits(event); ok || err != nil {
				return event, ok, err
			}
			after = event.Seq
		}
		more = page.More
	}
	return store.Event{}, false, nil
}

// standing is the place function of a command on a session.
func (b *backend) standing(ctx context.Context, id string) func() (string, int64, error) {
	return func() (string, int64, error) {
		if _, err := b.sessions.Get(ctx, id); err != nil {
			return "", 0, err
		}
		head, err := b.headSeq(ctx, id)
		return id, head, err
	}
}

// once carries out a command on a session, unless an attempt under the caller's key
// left its event already: then it answers that one's sequence. run answers the sequence
// of the command's event, -1 when it left none.
func (b *backend) once(ctx context.Context, caller server.Caller, command, id string, body any,
	run func(ctx context.Context, by session.Origin) (seq int64, err error)) (int64, error) {
	by := origin(caller)
	if caller.Key == "" {
		return run(ctx, by)
	}
	row, over, err := b.keys.begin(ctx, caller, command, body, b.standing(ctx, id))
	if err != nil {
		return -1, err
	}
	defer over()
	by.Cause = row.Request
	var interrupted bool
	event, done, err := b.find(ctx, id, row.After, func(event store.Event) (bool, error) {
		interrupted = interrupted || event.Type == session.InterruptRequested{}.EventType()
		return event.Cause == row.Request, nil
	})
	switch {
	case errors.Is(err, store.ErrPruned): // it went on since, and was idle again
		interrupted = true
	case err != nil:
		return -1, err
	}
	switch {
	case done:
		return event.Seq, nil
	case interrupted && (command == commandResume || command == commandCompact):
		return -1, nil // what came after the command has overtaken it
	}
	// A caller that goes away leaves the command to its end, so that its retry answers
	// when it is done.
	return run(context.WithoutCancel(ctx), by)
}

// controlService is server.Control.
type controlService struct{ *backend }

// Interrupt stops the session's work. A repeated one answers when that has stopped.
func (b controlService) Interrupt(ctx context.Context, caller server.Caller, id string) (protocol.CommandReceipt, error) {
	seq, err := b.once(ctx, caller, commandInterrupt, id, id, func(ctx context.Context, by session.Origin) (int64, error) {
		return b.sessions.Interrupt(ctx, by, id)
	})
	return b.receipt(ctx, id, seq, err)
}

// Resume asks for a turn. A repeated one that had no effect before an interrupt has
// none after it.
func (b controlService) Resume(ctx context.Context, caller server.Caller, id string) (protocol.CommandReceipt, error) {
	seq, err := b.once(ctx, caller, commandResume, id, id, func(ctx context.Context, by session.Origin) (int64, error) {
		return b.sessions.Resume(ctx, by, id)
	})
	return b.receipt(ctx, id, seq, err)
}

// Compact asks for a summary of the older history. A repeated one that had no effect
// before an interrupt has none after it.
func (b controlService) Compact(ctx context.Context, caller server.Caller, id string) (protocol.CommandReceipt, error) {
	seq, err := b.once(ctx, caller, commandCompact, id, id, func(ctx context.Context, by session.Origin) (int64, error) {
		return b.sessions.Compact(ctx, by, id)
	})
	return b.receipt(ctx, id, seq, err)
}

// receipt has the place of the command's event, or of the log's end when it has none.
func (b controlService) receipt(ctx context.Context, id string, seq int64, err error) (protocol.CommandReceipt, error) {
	if err != nil {
		return protocol.CommandReceipt{}, wireError(err)
	}
	if seq < 0 {
		cursor, err := b.head(ctx, id)
		return protocol.CommandReceipt{SessionID: id, Cursor: cursor}, wireError(err)
	}
	return protocol.CommandReceipt{SessionID: id, Seq: &seq, Cursor: b.cursor(seq)}, nil
}

func (b controlService) Change(ctx context.Context, caller server.Caller, id string, change protocol.ChangeSession) (protocol.Session, error) {
	kernel := session.Change{Agent: change.Agent, Model: kernelModel(change.Model), Title: change.Title, Archived: change.Archived,
		Retention: kernelRetention(change.Retention)}
	if change.Rules != nil {
		rules := kernelRules(*change.Rules)
		kernel.Rules = &rules
	}
	if change.Budgets != nil {
		budgets := kernelBudgets(*change.Budgets)
		kernel.Budgets = &budgets
	}
	return b.changed(ctx, caller, commandChange, id, change, func(ctx context.Context, by session.Origin) error {
		_, err := b.sessions.Change(ctx, by, id, kernel)
		return err
	})
}

func (b controlService) Move(ctx context.Context, caller server.Caller, id string, move protocol.MoveSession) (protocol.Session, error) {
	return b.changed(ctx, caller, commandMove, id, move, func(ctx context.Context, by session.Origin) error {
		_, err := b.sessions.Move(ctx, by, id, move.Location.Directory)
		return err
	})
}

// changed carries out a command and answers the session as it is then.
func (b controlService) changed(ctx context.Context, caller server.Caller, command, id string, body any,
	run func(ctx context.Context, by session.Origin) error) (protocol.Session, error) {
	_, err := b.once(ctx, caller, command, id, []any{id, body}, func(ctx context.Context, by session.Origin) (int64, error) {
		return -1, run(ctx, by)
	})
	if err != nil {
		return protocol.Session{}, wireError(err)
	}
	return sessionService(b).Get(ctx, id)
}

// permissionService is server.Permissions.
type permissionService struct{ *backend }

func (b permissionService) List(ctx context.Context, id string) (protocol.PermissionList, error) {
	open, err := b.permissions.List(ctx, id)
	if err != nil {
		return protocol.PermissionList{}, wireError(err)
	}
	list := protocol.PermissionList{Permissions: make([]protocol.Permission, len(open))}
	for i, permission := range open {
		list.Permissions[i] = wirePermission(permission, b.cursor(permission.Seq))
	}
	return list, nil
}

// Reply answers the receipt of the reply that stands in the log: of a key's first
// attempt, else of the one it has just made.
func (b permissionService) Reply(ctx context.Context, caller server.Caller, id string, reply protocol.PermissionReply) (protocol.PermissionReceipt, error) {
	if caller.Key != "" {
		row, over, err := b.keys.begin(ctx, caller, commandReply, protocol.ReplyParams{ID: id, PermissionReply: reply},
			func() (string, int64, error) { return b.asked(ctx, id) })
		switch {
		case errors.Is(err, errNotOpen): // there is nothing to repeat, and the kernel says why
		case err != nil:
			return protocol.PermissionReceipt{}, wireError(err)
		default:
			defer over()
			if receipt, done, err := b.replied(ctx, caller.Actor, row.Session, row.After, id, reply); done || err != nil {
				return receipt, wireError(err)
			}
		}
	}
	permission, err := b.permissions.Reply(ctx, origin(caller), id, session.Reply(reply.Reply), reply.Message)
	if err != nil {
		return protocol.PermissionReceipt{}, wireError(err)
	}
	receipt, done, err := b.replied(ctx, caller.Actor, permission.Session, permission.Seq, id, reply)
	if !done && err == nil {
		err = fmt.Errorf("permission request %s has a reply and no event of it", id)
	}
	return receipt, wireError(err)
}

// errNotOpen: the permission request is not there or was answered.
var errNotOpen = errors.New("the permission request is not open")

// asked is the place function of a reply.
func (b permissionService) asked(ctx context.Context, id string) (string, int64, error) {
	open, err := b.permissions.List(ctx, "")
	if err != nil {
		return "", 0, err
	}
	for _, permission := range open {
		if permission.Request == id {
			return permission.Session, permission.Seq, nil
		}
	}
	return "", 0, errNotOpen
}

// replied answers the receipt of the actor's reply that stands after a place.
func (b permissionService) replied(ctx context.Context, actor, in string, after int64, id string, reply protocol.PermissionReply) (protocol.PermissionReceipt, bool, error) {
	want := session.PermissionReplied{Request: id, Reply: session.Reply(reply.Reply), Feedback: reply.Message}
	event, done, err := b.find(ctx, in, after, func(event store.Event) (bool, error) {
		if event.Type != want.EventType() || event.Actor != actor {
			return false, nil
		}
		payload, err := session.Decode(event)
		return payload == session.Payload(want), err
	})
	if err != nil || !done {
		return protocol.PermissionReceipt{}, false, err
	}
	return protocol.PermissionReceipt{ID: id, SessionID: in, Reply: reply.Reply, Cursor: b.cursor(event.Seq)}, true, nil
}

// Approvals answers what people allowed for always.
func (b permissionService) Approvals(ctx context.Context, root string) (protocol.ApprovalList, error) {
	approvals, err := b.permissions.Approvals(ctx, root)
	if err != nil {
		return protocol.ApprovalList{}, wireError(err)
	}
	list := protocol.ApprovalList{Approvals: make([]protocol.Approval, len(approvals))}
	for i, a := range approvals {
		list.Approvals[i] = protocol.Approval{ID: a.ID, Root: a.Root, Plugin: a.Plugin, Action: a.Action, Resource: a.Resource, Time: instant(a.Saved)}
	}
	return list, nil
}

// RemoveApproval takes one back. It says by itself that it was done before.
func (b permissionService) RemoveApproval(ctx context.Context, caller server.Caller, id string) error {
	return wireError(b.permissions.RemoveApproval(ctx, origin(caller), id))
}
