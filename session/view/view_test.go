package view_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/view"
	"github.com/plinthhost/plinth/store"
)

// TestList: the newest session stands first whatever is said in the older ones, and
// pages of any size give all of them once.
func TestList(t *testing.T) {
	s := newShelf(t)
	var ids, want []string
	for i := range 7 {
		ids = append(ids, s.create(fmt.Sprint("session ", i), []string{"/even", "/odd"}[i%2]))
		want = append([]string{fmt.Sprint("session ", i)}, want...)
	}
	s.say(ids[0], "later")
	for _, limit := range []int{1, 2, 3, 6, 7, 8, 100} {
		if diff := cmp.Diff(want, s.titles(view.Query{Limit: limit})); diff != "" {
			t.Errorf("pages of %d:\n%s", limit, diff)
		}
	}
	if diff := cmp.Diff([]string{"session 5", "session 3", "session 1"}, s.titles(view.Query{Limit: 2, Directory: "/odd"})); diff != "" {
		t.Errorf("of one directory:\n%s", diff)
	}
	if got := s.titles(view.Query{Limit: 2, Directory: "/od"}); got != nil {
		t.Errorf("of part of a directory: %v", got)
	}
	// A session that comes while pages are read does not move what follows.
	items, _ := s.read(view.Query{Limit: 3})
	s.create("meanwhile", "/even")
	rest, more := s.read(view.Query{Limit: 10, Before: items[2].Place()})
	if len(rest) != 4 || rest[0].Title != "session 3" || more {
		t.Errorf("the rest: %+v, %v", rest, more)
	}
}

func TestListText(t *testing.T) {
	s := newShelf(t)
	for _, title := range []string{"100% sure", "100 sure", "a_b", "axb", `back\slash`, ""} {
		s.create(title, "/d")
	}
	untitled := s.create("", "/d")
	s.say(untitled, "what is 42%?")
	for text, want := range map[string][]string{
		"100%": {"100% sure"}, "a_b": {"a_b"}, `\`: {`back\slash`}, "SURE": {"100 sure", "100% sure"}, "42%": {""}, "nothing": nil, "%": {"", "100% sure"},
	} {
		if diff := cmp.Diff(want, s.titles(view.Query{Limit: 10, Text: text})); diff != "" {
			t.Errorf("text %q:\n%s", text, diff)
		}
	}
}

// TestItem: the first prompt is the preview, the last one moves the time.
func TestItem(t *testing.T) {
	s := newShelf(t)
	id := s.create("title", "/d")
	get := func(id string) (item view.Item, err error) {
		err = s.store.View(t.Context(), func(tx store.Tx) (err error) {
			item, err = view.Get(t.Context(), tx, id)
			return err
		})
		return item, err
	}
	fresh, err := get(id)
	if err != nil || fresh.Preview != "" || fresh.Updated != fresh.Created || fresh.Directory != "/d" || fresh.Agent != "build" || fresh.Model != "offline/rules" {
		t.Errorf("%+v, %v", fresh, err)
	}
	s.say(id, "  "+strings.Repeat("ö", 100)+"\nsecond line")
	s.say(id, "another")
	item, err := get(id)
	if want := strings.Repeat("ö", 60) + "…"; err != nil || item.Preview != want || item.Updated < fresh.Updated || item.Position != fresh.Position {
		t.Errorf("%+v, %v", item, err)
	}
	if _, err := get("ses_none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown session: %v", err)
	}
	if err := s.store.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if items, _ := s.read(view.Query{Limit: 10}); len(items) != 0 {
		t.Errorf("after deleting: %+v", items)
	}
}

// brokenList is the list with a fault on some events.
type brokenList struct {
	view.List
	fails func(store.Event) bool
}

var errBroken = errors.New("broken on purpose")

func (b brokenList) Apply(ctx context.Context, tx store.Tx, event store.Event) error {
	if b.fails(event) {
		return errBroken
	}
	return b.List.Apply(ctx, tx, event)
}

// TestStaleListIsRebuilt: a list that could not follow keeps no event out of the log,
// says that it is stale, and rebuilding it from the log gives what it would have been.
func TestStaleListIsRebuilt(t *testing.T) {
	s := newShelf(t)
	for i := range 3 {
		s.say(s.create(fmt.Sprint("before ", i), "/d"), "hello")
	}
	s.close()
	list, err := view.NewList("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	broken := true
	s.open(brokenList{list, func(event store.Event) bool { return broken && event.Type == session.PromptPromoted{}.EventType() }})
	id := s.create("while broken", "/d")
	s.say(id, "unseen")
	s.say(id, "unseen too")
	if stale := s.store.StaleViews(); len(stale) != 1 || stale[0].Name != "view" || !strings.Contains(stale[0].Reason, errBroken.Error()) {
		t.Fatalf("stale: %+v", stale)
	}
	broken = false
	s.create("after", "/d")
	s.close()
	s.open(list)
	if stale := s.store.StaleViews(); len(stale) != 1 {
		t.Fatalf("after opening anew: %+v", stale)
	}
	if err := s.store.RebuildView(t.Context(), "view"); err != nil {
		t.Fatal(err)
	}
	if stale := s.store.StaleViews(); len(stale) != 0 {
		t.Errorf("after rebuilding: %+v", stale)
	}
	items, _ := s.read(view.Query{Limit: 10})
	var got []string
	for _, item := range items {
		got = append(got, item.Title+"/"+item.Preview)
	}
	if diff := cmp.Diff([]string{"after/", "while broken/unseen", "before 2/hello", "before 1/hello", "before 0/hello"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestListThatIsLost: rows that vanished are there again after a rebuild, and one of
// a list that is whole changes nothing.
func TestListThatIsLost(t *testing.T) {
	s := newShelf(t)
	for i := range 5 {
		s.say(s.create(fmt.Sprint("session ", i), "/d"), fmt.Sprint("prompt ", i))
	}
	whole, _ := s.read(view.Query{Limit: 10})
	rebuilt := func() []view.Item {
		t.Helper()
		if err := s.store.RebuildView(t.Context(), "view"); err != nil {
			t.Fatal(err)
		}
		items, _ := s.read(view.Query{Limit: 10})
		return items
	}
	if diff := cmp.Diff(whole, rebuilt()); diff != "" {
		t.Errorf("a rebuild of the whole list:\n%s", diff)
	}
	s.close()
	database, err := sql.Open("sqlite3", filepath.Join(s.dir, "plinth.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := database.ExecContext(t.Context(), `DELETE FROM session_list WHERE title <> 'session 2'`); err != nil {
		t.Fatal(err)
	}
	if err := database.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := view.NewList("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	s.open(list)
	if items, _ := s.read(view.Query{Limit: 10}); len(items) != 1 {
		t.Fatalf("%d rows are left", len(items))
	}
	if diff := cmp.Diff(whole, rebuilt()); diff != "" {
		t.Errorf("a rebuild of what was left:\n%s", diff)
	}
}

func TestUnknownDialect(t *testing.T) {
	list, err := view.NewList("nothing")
	if err == nil {
		_, err = fs.ReadDir(list.Migrations(), ".")
	}
	if err == nil {
		t.Error("a list of an unknown dialect has migrations")
	}
}
