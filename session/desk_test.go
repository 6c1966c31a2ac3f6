package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// desk is the commands on sessions over a real store. Nothing runs: the tests append
// what a runner would.
type desk struct {
	t        *testing.T
	log      *sqlite.Store
	encoder  session.Encoder
	sessions *session.Sessions
	wakes    *wakes
	clock    *ticking
}

func newDesk(t *testing.T, options session.SessionOptions) *desk {
	t.Helper()
	return deskOver(t, sessiontest.OpenStore(t, t.TempDir()), options)
}

func deskOver(t *testing.T, log *sqlite.Store, options session.SessionOptions) *desk {
	t.Helper()
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &desk{t: t, log: log, wakes: &wakes{}, clock: &ticking{}}
	d.encoder = session.Encoder{IDs: session.NewIDs(d.clock), Clock: d.clock}
	options.Defaults = session.Defaults{Agent: "build", Model: session.ModelRef{Provider: "scripted", Model: "m1"}}
	d.sessions = session.NewSessions(log, d.encoder, folders{}, d.wakes, options)
	return d
}

// atDesk runs a case on a session of its own.
func atDesk(run func(t *testing.T, d *desk, id string)) func(t *testing.T) {
	return func(t *testing.T) {
		d := newDesk(t, session.SessionOptions{})
		run(t, d, d.create())
	}
}

// ticking is a clock that goes on by a second whenever it is read.
type ticking struct {
	mu    sync.Mutex
	reads int
}

func (c *ticking) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	return time.Date(2026, 11, 21, 9, 0, c.reads, 0, time.UTC)
}

// wakes records what the coordinator is told.
type wakes struct {
	mu   sync.Mutex
	seqs []int64
}

func (w *wakes) Wake(_ string, seq int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seqs = append(w.seqs, seq)
}

func (w *wakes) Interrupt(context.Context, string, int64) error { return nil }

func (w *wakes) Settle(context.Context, string) error { return nil }

func (w *wakes) Running(string) bool { return false }

// take answers the wakes since the last time.
func (w *wakes) take() []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	seqs := w.seqs
	w.seqs = nil
	return seqs
}

// folders takes any directory; "remote" is of another machine.
type folders struct{}

func (folders) Resolve(_ context.Context, directory string) (session.Location, error) {
	switch directory {
	case "":
		return session.Location{}, errors.Join(session.ErrInvalid, errors.New("no directory"))
	case "remote":
		return session.Location{Directory: "/remote", Root: "/remote", Workspace: "w1"}, nil
	}
	return session.Location{Directory: directory, Root: directory}, nil
}

func (d *desk) create() string {
	d.t.Helper()
	s, created, err := d.sessions.Create(d.t.Context(), session.System(), session.CreateRequest{Directory: "/work"})
	if err != nil || !created {
		d.t.Fatalf("create: %v, created %v", err, created)
	}
	return s.ID
}

func (d *desk) id(prefix string) string { return d.encoder.IDs.New(prefix) }

// try appends as a runner would.
func (d *desk) try(id string, payloads ...session.Payload) ([]store.Event, error) {
	d.t.Helper()
	events, err := d.encoder.Encode(session.System(), payloads...)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.log.Append(d.t.Context(), store.Batch{Aggregate: id, Mode: store.Any(), Events: events})
}

func (d *desk) append(id string, payloads ...session.Payload) []store.Event {
	d.t.Helper()
	events, err := d.try(id, payloads...)
	if err != nil {
		d.t.Fatal(err)
	}
	return events
}

func (d *desk) admit(request session.PromptRequest) session.Input {
	d.t.Helper()
	input, err := d.sessions.Admit(d.t.Context(), session.System(), request)
	if err != nil {
		d.t.Fatal(err)
	}
	return input
}

// held admits a prompt that asks for no execution.
func (d *desk) held(id, text string, delivery session.Delivery) session.Input {
	d.t.Helper()
	return d.admit(session.PromptRequest{Session: id, Prompt: session.Prompt{Text: text}, Delivery: delivery, AdmitOnly: true})
}

func (d *desk) promote(input session.Input) []store.Event {
	d.t.Helper()
	return d.append(input.Session, promotion(input))
}

func promotion(input session.Input) session.PromptPromoted {
	return session.PromptPromoted{Message: input.ID, Prompt: input.Prompt, Created: input.Created}
}

func (d *desk) input(id string) session.Input {
	d.t.Helper()
	input, err := d.sessions.Input(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return input
}

// texts answers the texts of the prompts that wait, in order.
func (d *desk) texts(id string) []string {
	d.t.Helper()
	pending, err := d.sessions.Inbox(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	texts := []string{}
	for _, input := range pending {
		texts = append(texts, input.Prompt.Text)
	}
	return texts
}

func (d *desk) messages(id string) []session.Message {
	d.t.Helper()
	messages, err := d.sessions.Messages(d.t.Context(), id, -1, 1000)
	if err != nil {
		d.t.Fatal(err)
	}
	return messages
}

func (d *desk) session(id string) session.Session {
	d.t.Helper()
	s, err := d.sessions.Get(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

func (d *desk) events(id string) []store.Event {
	d.t.Helper()
	page, err := d.log.Read(d.t.Context(), id, -1, 10_000)
	if err != nil {
		d.t.Fatal(err)
	}
	return page.Events
}

// woken lists the sessions that ask for execution.
func (d *desk) woken() (sessions []string) {
	d.t.Helper()
	if err := d.log.View(d.t.Context(), func(tx store.Tx) (err error) {
		sessions, err = session.LoadWoken(d.t.Context(), tx)
		return err
	}); err != nil {
		d.t.Fatal(err)
	}
	return sessions
}

// types answers the types of the session's events after the first.
func (d *desk) types(id string) []string {
	d.t.Helper()
	types := []string{}
	for _, event := range d.events(id)[1:] {
		types = append(types, event.Type)
	}
	return types
}

func (d *desk) count(id, eventType string) (n int) {
	d.t.Helper()
	for _, name := range d.types(id) {
		if name == eventType {
			n++
		}
	}
	return n
}

// assistant begins a step and answers its message.
func (d *desk) assistant(id string) string {
	d.t.Helper()
	message := d.id(session.PrefixMessage)
	d.append(id, session.StepStarted{Message: message, Agent: "build"})
	return message
}

// tool answers the newest tool part of a message.
func (d *desk) tool(id, message string) session.MessagePart {
	d.t.Helper()
	for _, m := range d.messages(id) {
		for _, part := range slices.Backward(m.Parts) {
			if m.ID == message && part.Tool != nil {
				return part
			}
		}
	}
	d.t.Fatalf("%s has no call", message)
	return session.MessagePart{}
}

func wantConflict(t *testing.T, err error) {
	t.Helper()
	if _, ok := errors.AsType[*session.ConflictError](err); !ok {
		t.Errorf("%v is no conflict", err)
	}
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }
