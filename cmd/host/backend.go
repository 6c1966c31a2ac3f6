package main

import (
	"context"
	"math"
	"strconv"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/view"
	"github.com/plinthhost/plinth/store"
)

// backend shows the kernel to the server, in the server's words.
type backend struct {
	log         store.Log
	sessions    *session.Sessions
	permissions *session.Permissions
	coordinator *session.Coordinator
	live        *session.Live
	// directory is where a session works whose creator does not say.
	directory string
}

func origin(caller server.Caller) session.Origin {
	return session.Origin{Actor: caller.Actor, Trace: caller.Trace}
}

// head answers the cursor of a session's last event. It is read before the state
// it goes with, so that following from it misses nothing.
func (b *backend) head(ctx context.Context, id string) (string, error) {
	page, err := b.log.Read(ctx, id, math.MaxInt64-1, 1)
	if err != nil {
		return "", err
	}
	return b.cursor(page.Head.Seq), nil
}

func (b *backend) cursor(seq int64) string { return protocol.NewCursor(b.log.ID(), seq, "").String() }

func (b *backend) status(ctx context.Context, id string) (protocol.Status, error) {
	if !b.coordinator.Running(id) {
		return protocol.StatusIdle, nil
	}
	open, err := b.permissions.List(ctx, id)
	if err != nil || len(open) == 0 {
		return protocol.StatusRunning, err
	}
	return protocol.StatusWaiting, nil
}

func (b *backend) show(ctx context.Context, s session.Session, cursor string) (protocol.Session, error) {
	var item view.Item
	// The list is a view: it may be behind, and a session is shown without it.
	_ = b.log.View(ctx, func(tx store.Tx) (err error) {
		item, err = view.Get(ctx, tx, s.ID)
		return err
	})
	status, err := b.status(ctx, s.ID)
	if err != nil {
		return protocol.Session{}, err
	}
	wire := wireSession(s, item, status)
	wire.Cursor = cursor
	return wire, nil
}

// sessionService is server.Sessions.
type sessionService struct{ *backend }

func (b sessionService) Create(ctx context.Context, caller server.Caller, request protocol.CreateSession) (protocol.Session, bool, error) {
	directory := request.Location.Directory
	if directory == "" {
		directory = b.directory
	}
	s, created, err := b.sessions.Create(ctx, origin(caller), session.CreateRequest{
		ID: request.ID, Directory: directory, Title: request.Title, Agent: request.Agent, Model: kernelModel(request.Model)})
	if err != nil {
		return protocol.Session{}, false, wireError(err)
	}
	cursor, err := b.head(ctx, s.ID)
	if err != nil {
		return protocol.Session{}, false, wireError(err)
	}
	wire, err := b.show(ctx, s, cursor)
	return wire, created, wireError(err)
}

func (b sessionService) Get(ctx context.Context, id string) (protocol.Session, error) {
	cursor, err := b.head(ctx, id)
	if err != nil {
		return protocol.Session{}, wireError(err)
	}
	s, err := b.sessions.Get(ctx, id)
	if err != nil {
		return protocol.Session{}, wireError(err)
	}
	wire, err := b.show(ctx, s, cursor)
	return wire, wireError(err)
}

func (b sessionService) List(ctx context.Context, request protocol.ListSessions) (protocol.SessionList, error) {
	if request.Archived {
		return protocol.SessionList{}, protocol.Errorf(protocol.BadRequest, "archived: sessions cannot be archived in this version")
	}
	query := view.Query{Limit: request.Limit, Directory: request.Directory, Text: request.Text}
	if request.Cursor != "" {
		before, err := strconv.ParseInt(request.Cursor, 36, 64)
		if err != nil || before <= 0 {
			return protocol.SessionList{}, protocol.Errorf(protocol.BadRequest, "cursor: it is none of this list; send next of the page before")
		}
		query.Before = before
	}
	var items []view.Item
	var sessions []session.Session
	var more bool
	err := b.log.View(ctx, func(tx store.Tx) (err error) {
		if items, more, err = view.Read(ctx, tx, query); err != nil {
			return err
		}
		for _, item := range items {
			s, err := session.LoadSession(ctx, tx, item.ID)
			if err != nil {
				return err
			}
			sessions = append(sessions, s)
		}
		return nil
	})
	if err != nil {
		return protocol.SessionList{}, wireError(err)
	}
	list := protocol.SessionList{Sessions: make([]protocol.Session, len(items))}
	for i, item := range items {
		status, err := b.status(ctx, item.ID)
		if err != nil {
			return protocol.SessionList{}, wireError(err)
		}
		list.Sessions[i] = wireSession(sessions[i], item, status)
	}
	if more {
		list.Next = strconv.FormatInt(items[len(items)-1].Position, 36)
	}
	return list, nil
}

func (b sessionService) Messages(ctx context.Context, id string, request protocol.ListMessages) (protocol.MessageList, error) {
	cursor, err := b.head(ctx, id)
	if err != nil {
		return protocol.MessageList{}, wireError(err)
	}
	after := int64(-1)
	if request.After != nil {
		after = *request.After
	}
	messages, err := b.sessions.Messages(ctx, id, after, request.Limit+1)
	if err != nil {
		return protocol.MessageList{}, wireError(err)
	}
	more := len(messages) > request.Limit
	return protocol.MessageList{Messages: wireMessages(messages[:min(len(messages), request.Limit)]), More: more, Cursor: cursor}, nil
}

// controlService is server.Control.
type controlService struct{ *backend }

func (b controlService) Interrupt(ctx context.Context, caller server.Caller, id string) (protocol.CommandReceipt, error) {
	seq, err := b.sessions.Interrupt(ctx, origin(caller), id)
	if err != nil {
		return protocol.CommandReceipt{}, wireError(err)
	}
	return protocol.CommandReceipt{SessionID: id, Seq: &seq, Cursor: b.cursor(seq)}, nil
}

func (b controlService) Resume(ctx context.Context, _ server.Caller, id string) (protocol.CommandReceipt, error) {
	cursor, err := b.head(ctx, id)
	if err == nil {
		err = b.sessions.Resume(ctx, id)
	}
	if err != nil {
		return protocol.CommandReceipt{}, wireError(err)
	}
	return protocol.CommandReceipt{SessionID: id, Cursor: cursor}, nil
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

func (b permissionService) Reply(ctx context.Context, caller server.Caller, id string, reply protocol.PermissionReply) (protocol.PermissionReceipt, error) {
	permission, err := b.permissions.Reply(ctx, origin(caller), id, session.Reply(reply.Reply), reply.Message)
	if err != nil {
		return protocol.PermissionReceipt{}, wireError(err)
	}
	cursor, err := b.head(ctx, permission.Session)
	if err != nil {
		return protocol.PermissionReceipt{}, wireError(err)
	}
	return protocol.PermissionReceipt{ID: id, SessionID: permission.Session, Reply: reply.Reply, Cursor: cursor}, nil
}

// eventService is server.Events.
type eventService struct{ *backend }

func (b eventService) LogID() string { return b.log.ID() }

func (b eventService) Read(ctx context.Context, id string, after int64, limit int) (server.EventPage, error) {
	if !session.IsSessionID(id) {
		return server.EventPage{}, protocol.Errorf(protocol.NotFound, "there is no session %q", id)
	}
	page, err := b.log.Read(ctx, id, after, limit)
	if err != nil {
		return server.EventPage{}, wireError(err)
	}
	if page.Head.Seq < 0 {
		return server.EventPage{}, protocol.Errorf(protocol.NotFound, "there is no session %q", id)
	}
	events := make([]protocol.Event, len(page.Events))
	for i, event := range page.Events {
		events[i] = wireEvent(event)
	}
	return server.EventPage{Events: events, Head: page.Head.Seq, First: page.Head.First, More: page.More}, nil
}

func (b eventService) Watch(id string) server.Wake { return b.log.Watch(id) }

// deltaService is server.Deltas.
type deltaService struct{ *backend }

func (b deltaService) Watch(id string) server.Wake { return b.live.Watch(id) }

// Open names each part for good: a call's progress beside its input.
func (b deltaService) Open(id string) []protocol.OpenPart {
	open := b.live.Open(id)
	wire := make([]protocol.OpenPart, len(open))
	for i, part := range open {
		wire[i] = protocol.OpenPart{Message: part.Message, Part: part.Part, Kind: protocol.PartKind(part.Kind), Text: part.Text}
		if part.Kind == session.LiveToolProgress {
			wire[i].Part += "/progress"
		}
	}
	return wire
}
