package view_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/view"
	"github.com/plinthhost/plinth/store"
)

// TestListLife: names, archived sessions, forks and prunings are listed as they are, also
// when the list is built anew from what the log has then.
func TestListLife(t *testing.T) {
	s := newShelf(t)
	old := time.Now().Add(-time.Hour).UnixMilli()
	first, second, third := s.create("first", "/d"), s.create("second", "/d"), s.create("", "/d")
	s.append(first, store.Any(), session.Renamed{Title: "renamed"})
	s.append(second, store.Any(), session.Archived{})
	s.say(third, "what is this?")
	s.append(third, store.Any(),
		session.HistoryPruned{Session: session.Session{Slug: "calm-owl", Location: session.Location{Directory: "/e"}, Agent: "plan", Created: old}},
		session.MessageImported{Message: session.Message{ID: s.encoder.IDs.New(session.PrefixMessage), Type: session.MessageUser, Created: old + 5,
			MessageBody: session.MessageBody{Prompt: &session.Prompt{Text: "what is this?"}}}})
	page, err := s.store.Read(t.Context(), third, 1<<40, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.Prune(t.Context(), third, page.Head.Seq-1); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		for name, c := range map[string]struct {
			query view.Query
			want  []string
		}{
			"all in sight": {view.Query{}, []string{"", "renamed"}},
			"archived too": {view.Query{Archived: true}, []string{"", "second", "renamed"}},
			"by slug":      {view.Query{Slug: "calm-owl"}, []string{""}},
			"by new title": {view.Query{Text: "RENAM"}, []string{"renamed"}},
			"by old title": {view.Query{Text: "first"}, nil},
			"by preview":   {view.Query{Text: "this?"}, []string{""}},
			"by directory": {view.Query{Directory: "/e"}, []string{""}},
		} {
			c.query.Limit = 1
			if name == "archived too" && when == "rebuilt" { // by creation, which the pruning tells
				c.want = []string{"second", "renamed", ""}
			}
			if name == "all in sight" && when == "rebuilt" {
				c.want = []string{"renamed", ""}
			}
			if diff := cmp.Diff(c.want, s.titles(c.query)); diff != "" {
				t.Errorf("%s, %s:\n%s", when, name, diff)
			}
		}
	}
	check("as it went")
	if err := s.store.RebuildView(t.Context(), "view"); err != nil {
		t.Fatal(err)
	}
	check("rebuilt")
	s.append(second, store.Any(), session.Unarchived{})
	if got := s.titles(view.Query{Limit: 9}); len(got) != 3 {
		t.Errorf("%v", got)
	}
}
