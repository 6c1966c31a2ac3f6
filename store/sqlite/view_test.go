package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// tallyView counts events by aggregate and fails as it is told to.
type tallyView struct {
	name   string
	schema []string
	fail   func(ctx context.Context, tx store.Tx, e store.Event) error
}

func newTallyView(name string) *tallyView {
	return &tallyView{name: name, schema: []string{`CREATE TABLE view_` + name + ` (aggregate TEXT PRIMARY KEY, total INTEGER NOT NULL)`}}
}

func (v *tallyView) Name() string      { return v.name }
func (v *tallyView) Migrations() fs.FS { return line(v.name, v.schema...).FS }

func (v *tallyView) Clear(ctx context.Context, tx store.Tx) error {
	_, err := tx.Exec(ctx, `DELETE FROM view_`+v.name)
	return err
}

func (v *tallyView) Apply(ctx context.Context, tx store.Tx, e store.Event) error {
	_, err := tx.Exec(ctx, `INSERT INTO view_`+v.name+` (aggregate, total) VALUES ($1, 1)
ON CONFLICT (aggregate) DO UPDATE SET total = total + 1`, e.Aggregate)
	if err == nil && v.fail != nil {
		return v.fail(ctx, tx, e)
	}
	return err
}

func (v *tallyView) Forget(ctx context.Context, tx store.Tx, aggregate string, _ int) (bool, error) {
	_, err := tx.Exec(ctx, `DELETE FROM view_`+v.name+` WHERE aggregate = $1`, aggregate)
	return false, err
}

func viewOptions(dir string, views ...sqlite.View) sqlite.Options {
	options := countOptions(dir)
	options.Views = views
	return options
}

func appendEvents(t *testing.T, s *sqlite.Store, aggregate string, n int) {
	t.Helper()
	var list []store.Event
	for range n {
		list = append(list, newEvent())
	}
	if _, err := s.Append(t.Context(), store.Batch{Aggregate: aggregate, Events: list}); err != nil {
		t.Fatalf("append: %v", err)
	}
}

func expectView(t *testing.T, s *sqlite.Store, name string, want map[string]int) {
	t.Helper()
	got := make(map[string]int)
	err := s.View(t.Context(), func(tx store.Tx) (err error) {
		rows, err := tx.Query(t.Context(), `SELECT aggregate, total FROM view_`+name)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var aggregate string
			var total int
			if err := rows.Scan(&aggregate, &total); err != nil {
				return err
			}
			got[aggregate] = total
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("view %s has %v, want %v", name, got, want)
	}
}

func expectStale(t *testing.T, s *sqlite.Store, want ...string) {
	t.Helper()
	var got []string
	for _, v := range s.StaleViews() {
		if v.Reason == "" {
			t.Errorf("%s is stale for no reason", v.Name)
		}
		got = append(got, v.Name)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("stale are %v, want %v", got, want)
	}
}

// TestViewFails: whatever a view does, the append is written and the other view
// follows; the failed one is stale, also after reopening, until it is rebuilt.
func TestViewFails(t *testing.T) {
	statement := func(sql string) func(context.Context, store.Tx, store.Event) error {
		return func(ctx context.Context, tx store.Tx, _ store.Event) error {
			_, err := tx.Exec(ctx, sql)
			return err
		}
	}
	ways := map[string]func(context.Context, store.Tx, store.Event) error{
		"an error":  func(context.Context, store.Tx, store.Event) error { return errors.New("own") },
		"wrong SQL": statement(`SELECT nonsense`),
		"rollback":  statement(`ROLLBACK`),
		"commit":    statement(`COMMIT`),
	}
	for way, fail := range ways {
		t.Run(way, func(t *testing.T) {
			bad, good := newTallyView("bad"), newTallyView("good")
			options := viewOptions(t.TempDir(), bad, good)
			s := openStore(t, options)
			appendEvents(t, s, "ses_a", 2)
			expectStale(t, s)
			bad.fail = fail
			appendEvents(t, s, "ses_a", 3)
			bad.fail = nil
			appendEvents(t, s, "ses_a", 1)
			check := func() {
				t.Helper()
				expectStale(t, s, "bad")
				expectView(t, s, "bad", map[string]int{"ses_a": 2})
				expectView(t, s, "good", map[string]int{"ses_a": 6})
				if total := count(t, s, "ses_a"); total != 6 {
					t.Errorf("the projection has %d", total)
				}
			}
			check()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = mustOpen(t, options)
			check()
			if err := s.RebuildView(t.Context(), "bad"); err != nil {
				t.Fatal(err)
			}
			appendEvents(t, s, "ses_b", 1)
			expectStale(t, s)
			expectView(t, s, "bad", map[string]int{"ses_a": 6, "ses_b": 1})
		})
	}
}

// TestNewView: a view that comes to a log with events, or whose tables change, is
// stale until it is rebuilt. In an empty log it is fresh.
func TestNewView(t *testing.T) {
	dir := t.TempDir()
	first, second := newTallyView("first"), newTallyView("second")
	s := openStore(t, viewOptions(dir, first))
	expectStale(t, s)
	appendEvents(t, s, "ses_a", 2)
	reopen := func(views ...sqlite.View) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openStore(t, viewOptions(dir, views...))
	}
	reopen(first, second)
	defer func() { s.Close() }()
	expectStale(t, s, "second")
	appendEvents(t, s, "ses_a", 1)
	expectView(t, s, "first", map[string]int{"ses_a": 3})
	if err := s.RebuildView(t.Context(), "second"); err != nil {
		t.Fatal(err)
	}
	expectView(t, s, "second", map[string]int{"ses_a": 3})
	reopen(first, &versionedView{second})
	expectStale(t, s, "second")
	if err := s.RebuildView(t.Context(), "third"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("rebuild an unknown view: %v", err)
	}
}

// versionedView has one more migration.
type versionedView struct{ *tallyView }

func (v *versionedView) Migrations() fs.FS {
	files := line(v.name, v.schema...).FS
	added := line("x", `CREATE INDEX view_index ON view_`+v.name+` (total)`).FS
	return layered{files, added}
}

// layered shows the file of its second part as 002_x.sql.
type layered struct{ first, second fs.FS }

func (l layered) Open(name string) (fs.File, error) {
	if name == "002_x.sql" {
		return l.second.Open("001_x.sql")
	}
	return l.first.Open(name)
}

func (l layered) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(l.first, name)
	if err != nil {
		return nil, err
	}
	info, err := fs.Stat(l.second, "001_x.sql")
	return append(entries, renamed{fs.FileInfoToDirEntry(info)}), err
}

type renamed struct{ fs.DirEntry }

func (renamed) Name() string { return "002_x.sql" }

// TestViewWithoutRoom: a full disk is not the view's fault. The append is refused
// and the view stays fresh.
func TestViewWithoutRoom(t *testing.T) {
	view := newTallyView("tally")
	view.schema = append(view.schema, `CREATE TABLE view_bulk (value BLOB NOT NULL)`)
	reached := 0
	view.fail = func(ctx context.Context, tx store.Tx, e store.Event) error {
		if e.Type != "test.bulk" {
			return nil
		}
		reached++
		_, err := tx.Exec(ctx, `INSERT INTO view_bulk (value) VALUES (zeroblob(100000))`)
		return err
	}
	s := mustOpen(t, viewOptions(t.TempDir(), view))
	appendEvents(t, s, "ses_a", 1)
	if err := s.SetMaxPages(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	bulk := newEvent()
	bulk.Type = "test.bulk"
	_, err := s.Append(t.Context(), store.Batch{Aggregate: "ses_a", Events: []store.Event{bulk}})
	if !errors.Is(err, store.ErrFull) || reached == 0 {
		t.Errorf("append: %v, the view was reached %d times", err, reached)
	}
	expectStale(t, s)
	if err := s.SetMaxPages(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), store.Batch{Aggregate: "ses_a", Events: []store.Event{bulk}}); err != nil {
		t.Errorf("append with room again: %v", err)
	}
	expectView(t, s, "tally", map[string]int{"ses_a": 2})
}
