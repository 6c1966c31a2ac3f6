package session_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// logbook is a store with the kernel's tables and somebody who writes to it.
type logbook struct {
	*sqlite.Store
	t       *testing.T
	encoder session.Encoder
}

func newLogbook(t *testing.T) *logbook {
	return logbookOf(t, sessiontest.OpenStore(t, t.TempDir()))
}

func logbookOf(t *testing.T, log *sqlite.Store) *logbook {
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return &logbook{Store: log, t: t, encoder: session.Encoder{IDs: session.NewIDs(sessiontest.Clock{}), Clock: sessiontest.Clock{}}}
}

// id makes an id.
func (l *logbook) id(prefix string) string { return l.encoder.IDs.New(prefix) }

// note is a message that changes nothing else.
func (l *logbook) note(text string) session.Synthetic {
	return session.Synthetic{Message: l.id(session.PrefixMessage), Text: text}
}

// created begins a session that works in a directory.
func created(directory string) session.Created {
	return session.Created{Location: session.Location{Directory: directory, Root: directory}}
}

// begin makes a session with some notes after its creation.
func (l *logbook) begin(notes int) string {
	l.t.Helper()
	id := l.id(session.PrefixSession)
	payloads := []session.Payload{created("/work")}
	for i := range notes {
		payloads = append(payloads, l.note(fmt.Sprint("note ", i+1)))
	}
	l.write(id, payloads...)
	return id
}

func (l *logbook) try(aggregate string, payloads ...session.Payload) ([]store.Event, error) {
	events, err := l.encoder.Encode(session.System(), payloads...)
	if err != nil {
		return nil, err
	}
	return l.Append(l.t.Context(), store.Batch{Aggregate: aggregate, Events: events})
}

// write must succeed.
func (l *logbook) write(aggregate string, payloads ...session.Payload) []store.Event {
	l.t.Helper()
	events, err := l.try(aggregate, payloads...)
	if err != nil {
		l.t.Fatal(err)
	}
	return events
}

func (l *logbook) events(aggregate string) []store.Event {
	l.t.Helper()
	page, err := l.Read(l.t.Context(), aggregate, -1, 1000)
	if err != nil {
		l.t.Fatal(err)
	}
	return page.Events
}

func (l *logbook) session(id string) (s session.Session, err error) {
	err = l.View(l.t.Context(), func(tx store.Tx) error {
		s, err = session.LoadSession(l.t.Context(), tx, id)
		return err
	})
	return s, err
}

// texts are those of the notes of a session's transcript.
func (l *logbook) texts(id string) (all []string) {
	l.t.Helper()
	err := l.View(l.t.Context(), func(tx store.Tx) error {
		messages, err := session.LoadMessages(l.t.Context(), tx, id, -1, 1000)
		for _, message := range messages {
			all = append(all, message.Text)
		}
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return all
}

// follow answers the sequences that a cursor gives until it has so many.
func (l *logbook) follow(tail *store.Tail, n, limit int) (seqs []int64) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 20*time.Second)
	defer cancel()
	for len(seqs) < n {
		page, err := tail.Next(ctx, limit)
		if err != nil {
			l.t.Fatalf("%v; so far %v", err, seqs)
		}
		seqs = append(seqs, sequences(page.Events)...)
	}
	return seqs
}

func sequences(events []store.Event) (seqs []int64) {
	for _, event := range events {
		seqs = append(seqs, event.Seq)
	}
	return seqs
}

func equal[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
