package audit_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/audit"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// world is a kernel whose session has a child, a tool call and a file.
type world struct {
	*sessiontest.World
	id, child string
	picture   string
}

func newWorld(t *testing.T) *world {
	w := &world{World: sessiontest.New(t, sessiontest.Options{})}
	digest, err := w.Log.Blobs().Put(t.Context(), []byte("a picture"))
	if err != nil {
		t.Fatal(err)
	}
	w.picture = digest
	w.id = w.Create()
	w.Provider.Script(sessiontest.Say("Hello"), sessiontest.Say("Again"))
	w.Prompt(w.id, "Hi", session.Steer)
	w.Settled(w.id, 1)
	w.Prompt(w.id, "Hi again", session.Steer)
	w.Settled(w.id, 2)
	w.child = w.Encoder.IDs.New(session.PrefixSession)
	cost := int64(5)
	answer := w.Encoder.IDs.New(session.PrefixMessage)
	w.record(w.child, session.Created{Location: session.Location{Directory: "/work"}, Agent: "build", Parent: w.id, Depth: 1},
		session.Synthetic{Message: answer, Text: strings.Repeat("long ", 10_000)},
		session.Renamed{Title: "child", Auto: true, Cost: &cost, Usage: &session.Usage{Input: 7}})
	w.record(w.id, session.PromptAdmitted{Message: w.Encoder.IDs.New(session.PrefixMessage), Delivery: session.Queue,
		Prompt: session.Prompt{Text: "look", Files: []session.PromptFile{{Blob: digest, Mime: "image/png"}}}})
	w.record(w.id, session.ChildAsked{Session: w.child, Request: "per_a"}, session.TodosChanged{Todos: []session.Todo{{}}})
	return w
}

func (w *world) record(id string, payloads ...session.Payload) {
	w.T.Helper()
	events, err := w.Encoder.Encode(session.System(), payloads...)
	if err == nil {
		_, err = w.Log.Append(w.T.Context(), store.Batch{Aggregate: id, Mode: store.Any(), Events: events})
	}
	if err != nil {
		w.T.Fatal(err)
	}
}

func (w *world) audit() []audit.Difference {
	w.T.Helper()
	auditor := audit.Auditor{Log: w.Log, Blobs: w.Log.Blobs(), Columns: sqlite.Columns,
		Scratch: func(context.Context) (store.Log, func() error, error) {
			scratch := sessiontest.OpenStore(w.T, w.T.TempDir())
			return scratch, scratch.Close, nil
		}}
	looked, found, err := auditor.Session(w.T.Context(), w.id)
	if err != nil {
		w.T.Fatal(err)
	}
	if len(looked) != 2 || looked[0] != w.id || looked[1] != w.child {
		w.T.Errorf("looked at %v", looked)
	}
	return found
}

// alter changes the database behind the store's back.
func (w *world) alter(statement string) {
	w.T.Helper()
	db := sqlite.OpenDatabase(filepath.Join(w.Dir, "plinth.db"))
	defer db.Close()
	result, err := db.Exec(statement)
	if err != nil {
		w.T.Fatal(err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		w.T.Fatalf("%s changed %d rows, %v", statement, n, err)
	}
}

func TestASoundSession(t *testing.T) {
	if found := newWorld(t).audit(); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

func TestWhatGoesWithADeletedChildIsNoDifference(t *testing.T) {
	w := newWorld(t)
	w.record(w.id, session.TaskStarted{Message: "msg_x", Call: "c", Session: w.child, Prompt: "msg_y", Agent: "build"})
	if err := w.Log.Delete(t.Context(), w.child); err != nil {
		t.Fatal(err)
	}
	gone := w.child
	w.child = ""
	auditor := audit.Auditor{Log: w.Log, Blobs: w.Log.Blobs(), Columns: sqlite.Columns,
		Scratch: func(context.Context) (store.Log, func() error, error) {
			scratch := sessiontest.OpenStore(t, t.TempDir())
			return scratch, scratch.Close, nil
		}}
	looked, found, err := auditor.Session(t.Context(), w.id)
	if err != nil || len(looked) != 1 || len(found) != 0 {
		t.Errorf("without %s: %v, %v, %v", gone, looked, found, err)
	}
	w.alter(`UPDATE spent SET input = 1 WHERE scope = '` + w.id + `'`)
	if _, found, err = auditor.Session(t.Context(), w.id); err != nil || len(found) != 1 || found[0].Table != "spent" {
		t.Errorf("less than the log gives: %v, %v", found, err)
	}
}

func TestDamageIsFound(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(w *world)
		want   string
	}{
		"a title":   {func(w *world) { w.alter(`UPDATE session SET title = 'x'`) }, "session: the log gives another title"},
		"a message": {func(w *world) { w.alter(`UPDATE message SET body = '{}' WHERE type = 'user'`) }, "message seq="},
		"a long message": {func(w *world) {
			w.alter(`UPDATE message SET body = replace(body, 'long', 'lonG') WHERE type = 'synthetic'`)
		}, "another body"},
		"a part gone":    {func(w *world) { w.alter(`DELETE FROM part`) }, "the row is missing"},
		"a row too many": {func(w *world) { w.alter(`INSERT INTO todo VALUES ('` + w.child + `', '[]')`) }, "todo: the row is stored, and the log has no cause for it"},
		"spent":          {func(w *world) { w.alter(`UPDATE spent SET input = input + 1 WHERE scope = '` + w.id + `'`) }, "spent: the log gives another input"},
		"an event":       {func(w *world) { w.alter(`UPDATE log_event SET data = x'7b' WHERE type = 'session.text.ended'`) }, "its log cannot be replayed"},
		"an event gone":  {func(w *world) { w.alter(`DELETE FROM log_event WHERE type = 'session.text.ended'`) }, "is missing"},
		"event data":     {func(w *world) { w.removeData() }, "its events cannot be read"},
		"a file":         {func(w *world) { w.removeBlob(w.picture) }, "names a file that is lost"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.damage(w)
			found := w.audit()
			if len(found) == 0 || !strings.Contains(fmt.Sprint(found), test.want) {
				t.Errorf("found %v, want %q", found, test.want)
			}
		})
	}
}

func (w *world) removeBlob(digest string) {
	w.T.Helper()
	if err := os.Remove(filepath.Join(w.Dir, "blobs", digest[:2], digest[2:])); err != nil {
		w.T.Fatal(err)
	}
}

// removeData removes all blobs but the picture.
func (w *world) removeData() {
	w.T.Helper()
	files, err := filepath.Glob(filepath.Join(w.Dir, "blobs", "??", "*"))
	if err != nil || len(files) < 2 {
		w.T.Fatalf("%v, %v", files, err)
	}
	for _, path := range files {
		digest := filepath.Base(filepath.Dir(path)) + filepath.Base(path)
		if digest != w.picture {
			w.removeBlob(digest)
		}
	}
	if fmt.Sprintf("%x", sha256.Sum256([]byte("a picture"))) != w.picture {
		w.T.Fatal("the digest is another one")
	}
}

// TestEveryTableOfTheKernelIsAudited fails when a table is new and nobody said whose
// its rows are.
func TestEveryTableOfTheKernelIsAudited(t *testing.T) {
	log := sessiontest.OpenStore(t, t.TempDir())
	defer log.Close()
	known := map[string]bool{}
	for _, name := range audit.Tables() {
		known[name] = true
	}
	err := log.View(t.Context(), func(tx store.Tx) error {
		rows, err := tx.Query(t.Context(), `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'log\_%' ESCAPE '\' AND name NOT LIKE 'sqlite%'`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			if !known[name] {
				t.Errorf("the table %s is not audited", name)
			}
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}
