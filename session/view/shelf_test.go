package view_test

import (
	"context"
	"io/fs"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/view"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// shelf is a store with the kernel's tables and the list.
type shelf struct {
	t       *testing.T
	dir     string
	store   *sqlite.Store
	encoder session.Encoder
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	clock := session.SystemClock{}
	s := &shelf{t: t, dir: t.TempDir(), encoder: session.Encoder{IDs: session.NewIDs(clock), Clock: clock}}
	list, err := view.NewList("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	s.open(list)
	t.Cleanup(func() { s.close() })
	return s
}

func (s *shelf) open(list sqlite.View) {
	s.t.Helper()
	kernel, err := fs.Sub(session.Migrations, "migrations/sqlite")
	if err != nil {
		s.t.Fatal(err)
	}
	s.store, err = sqlite.Open(s.t.Context(), sqlite.Options{
		Dir: s.dir, Projections: []store.Projection{session.Projection{}}, Views: []sqlite.View{list},
		Migrations: []sqlite.Migration{{Name: "kernel", FS: kernel}}, Logger: hclog.NewNullLogger(),
		Fatal: func(err error) { s.t.Error(err) },
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *shelf) close() {
	s.t.Helper()
	if err := s.store.Close(); err != nil {
		s.t.Error(err)
	}
}

func (s *shelf) append(id string, mode store.Mode, payloads ...session.Payload) {
	s.t.Helper()
	events, err := s.encoder.Encode(session.System(), payloads...)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.store.Append(s.t.Context(), store.Batch{Aggregate: id, Mode: mode, Events: events}); err != nil {
		s.t.Fatal(err)
	}
}

// create makes a session and answers its id.
func (s *shelf) create(title, directory string) string {
	s.t.Helper()
	id := s.encoder.IDs.New(session.PrefixSession)
	s.append(id, store.Exactly(-1), session.Created{Title: title, Agent: "build", Location: session.Location{Directory: directory, Root: directory},
		Model: session.ModelRef{Provider: "offline", Model: "rules"}})
	return id
}

// say makes a prompt visible history of the session.
func (s *shelf) say(id, text string) {
	s.t.Helper()
	message := s.encoder.IDs.New(session.PrefixMessage)
	prompt := session.Prompt{Text: text}
	s.append(id, store.Any(), session.PromptAdmitted{Message: message, Prompt: prompt, Delivery: session.Steer})
	var input session.Input
	s.view(func(ctx context.Context, tx store.Tx) (err error) {
		input, err = session.LoadInput(ctx, tx, message)
		return err
	})
	s.append(id, store.Any(), session.PromptPromoted{Message: message, Prompt: prompt, Created: input.Created})
}

func (s *shelf) view(read func(context.Context, store.Tx) error) {
	s.t.Helper()
	if err := s.store.View(s.t.Context(), func(tx store.Tx) error { return read(s.t.Context(), tx) }); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shelf) read(query view.Query) (items []view.Item, more bool) {
	s.t.Helper()
	s.view(func(ctx context.Context, tx store.Tx) (err error) {
		items, more, err = view.Read(ctx, tx, query)
		return err
	})
	return items, more
}

// titles reads all pages of a query and answers the titles, in order.
func (s *shelf) titles(query view.Query) (all []string) {
	s.t.Helper()
	for {
		items, more := s.read(query)
		if len(items) > query.Limit || more && len(items) < query.Limit || query.Before != (view.Place{}) && len(items) == 0 {
			s.t.Fatalf("%d items of %d, more %v", len(items), query.Limit, more)
		}
		for _, item := range items {
			all = append(all, item.Title)
		}
		if !more {
			return all
		}
		query.Before = items[len(items)-1].Place()
	}
}
