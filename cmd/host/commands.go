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

// controlService is server.Control.
type controlService struct{ *backend }

func (b controlService) Interrupt(ctx context.Context, caller server.Caller, id string) (protocol.CommandReceipt, error) {
	by := origin(caller)
	if caller.Key != "" {
		row, over, err := b.keys.begin(ctx, caller, commandInterrupt, id, b.standing(ctx, id))
		if err != nil {
			return protocol.CommandReceipt{}, wireError(err)
		}
		defer over()
		by.Cause = row.Request
		event, done, err := b.find(ctx, id, row.After, func(event store.Event) (bool, error) { return event.Cause == row.Request, nil })
		if err != nil {
			return protocol.CommandReceipt{}, wireError(err)
		}
		if done {
			return b.interrupted(id, event.Seq), nil
		}
		// A caller that goes away leaves the command to its end, so that its retry
		// answers when the work has stopped.
		ctx = context.WithoutCancel(ctx)
	}
	seq, err := b.sessions.Interrupt(ctx, by, id)
	if err != nil {
		return protocol.CommandReceipt{}, wireError(err)
	}
	return b.interrupted(id, seq), nil
}

func (b controlService) interrupted(id string, seq int64) protocol.CommandReceipt {
	return protocol.CommandReceipt{SessionID: id, Seq: &seq, Cursor: b.cursor(seq)}
}

// Resume starts an activity, which is the event it leaves. A repeated one starts
// none when there was one since, nor when an interrupt came after it.
func (b controlService) Resume(ctx context.Context, caller server.Caller, id string) (protocol.CommandReceipt, error) {
	if caller.Key == "" {
		_, head, err := b.standing(ctx, id)()
		return b.resume(ctx, id, head, err)
	}
	row, over, err := b.keys.begin(ctx, caller, commandResume, id, b.standing(ctx, id))
	if err != nil {
		return protocol.CommandReceipt{}, wireError(err)
	}
	defer over()
	_, done, err := b.find(ctx, id, row.After, overtakesResume)
	if done && err == nil {
		return protocol.CommandReceipt{SessionID: id, Cursor: b.cursor(row.After)}, nil
	}
	return b.resume(ctx, id, row.After, err)
}

func (b controlService) resume(ctx context.Context, id string, head int64, err error) (protocol.CommandReceipt, error) {
	if err == nil {
		err = b.sessions.Resume(ctx, id)
	}
	if err != nil {
		return protocol.CommandReceipt{}, wireError(err)
	}
	return protocol.CommandReceipt{SessionID: id, Cursor: b.cursor(head)}, nil
}

// overtakesResume reports whether an event leaves nothing to a resume before it.
func overtakesResume(event store.Event) (bool, error) {
	payload, err := session.Decode(event)
	if err != nil {
		return false, err
	}
	switch e := payload.(type) {
	case session.ActivityStarted:
		return e.Opener == session.OpenedByResume, nil
	case session.InterruptRequested:
		return true, nil
	}
	return false, nil
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
