package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/catalog"
	"github.com/plinthhost/plinth/host/expand"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/host/snapshot"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	"github.com/plinthhost/plinth/session/view"
	"github.com/plinthhost/plinth/store"
)

// backend shows the kernel to the server, in the server's words.
type backend struct {
	log         store.Log
	sessions    *session.Sessions
	permissions *session.Permissions
	todos       *session.TodoLists
	coordinator *session.Coordinator
	live        *session.Live
	plugins     *plugin.Manager
	agents      *session.Agents
	files       files
	catalog     *catalog.Catalog
	runner      *runner.Runner
	keys        *keys
	ids         *session.IDs
	expander    *expand.Expander
	shells      *session.Shells
	snapshots   *snapshot.Store // nil for none
	// forget removes what plugins stored in sessions that are gone.
	forget func(ctx context.Context, sessions []string)
	// directory is where a session works whose creator does not say.
	directory string
}

func origin(caller server.Caller) session.Origin {
	return session.Origin{Actor: caller.Actor, Trace: caller.Trace}
}

// head answers the cursor of a session's last event. It is read before the state
// it goes with, so that following from it misses nothing.
func (b *backend) head(ctx context.Context, id string) (string, error) {
	seq, err := b.headSeq(ctx, id)
	return b.cursor(seq), err
}

func (b *backend) headSeq(ctx context.Context, id string) (int64, error) {
	head, err := store.ReadHead(ctx, b.log, id)
	return head.Seq, err
}

func (b *backend) cursor(seq int64) string { return protocol.NewCursor(b.log.ID(), seq, "").String() }

// status is what a session does now. One whose work is suspended may wait for a person
// without a drain.
func (b *backend) status(ctx context.Context, id string, activity *session.Activity) (protocol.Status, error) {
	running := b.coordinator.Running(id)
	if !running && activity == nil {
		return protocol.StatusIdle, nil
	}
	permissions, err := b.permissions.List(ctx, id)
	if err != nil {
		return "", err
	}
	questions, err := b.permissions.Questions(ctx, id)
	if err != nil {
		return "", err
	}
	switch {
	case len(permissions)+len(questions) > 0:
		return protocol.StatusWaiting, nil
	case running:
		return protocol.StatusRunning, nil
	}
	return protocol.StatusIdle, nil
}

func (b *backend) show(ctx context.Context, s session.Session, cursor string) (protocol.Session, error) {
	var with shown
	// The list is a view: it may be behind, and a session is shown without it.
	_ = b.log.View(ctx, func(tx store.Tx) (err error) {
		with.item, err = view.Get(ctx, tx, s.ID)
		return err
	})
	err := b.log.View(ctx, func(tx store.Tx) error { return with.load(ctx, tx, s.ID) })
	if err != nil {
		return protocol.Session{}, err
	}
	if with.status, err = b.status(ctx, s.ID, with.activity); err != nil {
		return protocol.Session{}, err
	}
	wire := wireSession(s, with)
	wire.Cursor = cursor
	return wire, nil
}

// load reads what the kernel's tables tell.
func (s *shown) load(ctx context.Context, tx store.Tx, id string) (err error) {
	activity, err := session.LoadActivity(ctx, tx, id)
	switch {
	case err == nil:
		s.activity = &activity
	case !errors.Is(err, session.ErrNotFound):
		return err
	}
	s.totals, err = session.LoadTotals(ctx, tx, id)
	return err
}

// sessionService is server.Sessions.
type sessionService struct{ *backend }

func (b sessionService) Create(ctx context.Context, caller server.Caller, request protocol.CreateSession) (protocol.Session, bool, error) {
	directory := request.Location.Directory
	if directory == "" {
		directory = b.directory
	}
	by, id := origin(caller), request.ID
	if id == "" && caller.Key != "" {
		var err error
		if by.Cause, err = requestID(caller, "create", request); err != nil {
			return protocol.Session{}, false, err
		}
		id = idOf(session.PrefixSession, caller)
	}
	s, created, err := b.sessions.Create(ctx, by, session.CreateRequest{
		ID: id, Directory: directory, Title: request.Title, Agent: request.Agent, Model: kernelModel(request.Model),
		Rules: kernelRules(request.Rules), Budgets: kernelBudgets(request.Budgets)})
	if err == nil && !created && request.ID == "" {
		err = b.createdBy(ctx, id, by.Cause)
	}
	if err != nil {
		return protocol.Session{}, false, keyedError(caller, request.ID, err)
	}
	cursor, err := b.head(ctx, s.ID)
	if err != nil {
		return protocol.Session{}, false, wireError(err)
	}
	wire, err := b.show(ctx, s, cursor)
	return wire, created, wireError(err)
}

// createdBy is a conflict when the session was made by another request.
func (b sessionService) createdBy(ctx context.Context, id, request string) error {
	page, err := b.log.Read(ctx, id, -1, 1)
	if errors.Is(err, store.ErrPruned) {
		return nil // what made it is not known any more
	}
	if err != nil || len(page.Events) == 0 {
		return err
	}
	if page.Events[0].Cause != request {
		return keyConflict("another session")
	}
	return nil
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
	query := view.Query{Limit: request.Limit, Directory: request.Directory, Text: request.Text, Archived: request.Archived, Slug: request.Slug}
	if request.Cursor != "" {
		var ok bool
		if query.Before, ok = parsePlace(request.Cursor); !ok {
			return protocol.SessionList{}, protocol.Errorf(protocol.BadRequest, "cursor: it is none of this list; send next of the page before")
		}
	}
	var items []view.Item
	var sessions []session.Session
	var with []shown
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
			one := shown{item: item}
			if err := one.load(ctx, tx, item.ID); err != nil {
				return err
			}
			sessions, with = append(sessions, s), append(with, one)
		}
		return nil
	})
	if err != nil {
		return protocol.SessionList{}, wireError(err)
	}
	list := protocol.SessionList{Sessions: make([]protocol.Session, len(items))}
	for i, item := range items {
		if with[i].status, err = b.status(ctx, item.ID, with[i].activity); err != nil {
			return protocol.SessionList{}, wireError(err)
		}
		list.Sessions[i] = wireSession(sessions[i], with[i])
		if changes := list.Sessions[i].Changes; changes != nil {
			changes.Files = nil // a page has many sessions
		}
	}
	if more {
		list.Next = placeText(items[len(items)-1].Place())
	}
	return list, nil
}

// placeText is a place in the list as a cursor.
func placeText(place view.Place) string {
	return strconv.FormatInt(place.Created, 36) + "." + strconv.FormatInt(place.Position, 36)
}

func parsePlace(text string) (place view.Place, ok bool) {
	created, position, _ := strings.Cut(text, ".")
	var first, second error
	place.Created, first = strconv.ParseInt(created, 36, 64)
	place.Position, second = strconv.ParseInt(position, 36, 64)
	return place, errors.Join(first, second) == nil && place.Created >= 0 && place.Position > 0
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
	read := b.sessions.Messages
	if request.Timeline {
		read = b.sessions.Timeline
	}
	messages, err := read(ctx, id, after, request.Limit+1)
	if err != nil {
		return protocol.MessageList{}, wireError(err)
	}
	more := len(messages) > request.Limit
	return protocol.MessageList{Messages: wireMessages(messages[:min(len(messages), request.Limit)]), More: more, Cursor: cursor}, nil
}

// eventService is server.Events.
type eventService struct{ *backend }

func (b eventService) LogID() string { return b.log.ID() }

func (b eventService) Read(ctx context.Context, id string, after int64, limit int) (server.EventPage, error) {
	if id != session.Host && !session.IsSessionID(id) {
		return server.EventPage{}, unknownSession(id)
	}
	page, err := b.log.Read(ctx, id, after, limit)
	if err != nil && !errors.Is(err, store.ErrPruned) { // First says so
		return server.EventPage{}, wireError(err)
	}
	if page.Head.Seq < 0 && id != session.Host {
		return server.EventPage{}, unknownSession(id)
	}
	events := make([]protocol.Event, len(page.Events))
	for i, event := range page.Events {
		events[i] = wireEvent(event)
	}
	return server.EventPage{Events: events, Head: page.Head.Seq, First: page.Head.First, More: page.More}, nil
}

// unknownSession words what the kernel says of a session it does not know.
func unknownSession(id string) error {
	return wireError(fmt.Errorf("session %s: %w", oneLine(id, 64), session.ErrNotFound))
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
