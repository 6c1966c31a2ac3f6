package bundle_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/bundle"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

var (
	at    = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	model = session.ModelRef{Provider: "scripted", Model: "m1"}
)

// side is one store with what imports into it.
type side struct {
	t        *testing.T
	log      *sqlite.Store
	dir      string
	encoder  session.Encoder
	importer *bundle.Importer
}

func newSide(t *testing.T) *side {
	t.Helper()
	s := &side{t: t, dir: t.TempDir(), encoder: session.Encoder{IDs: session.NewIDs(sessiontest.Clock{}), Clock: sessiontest.Clock{}}}
	s.log = sessiontest.OpenStore(t, s.dir)
	t.Cleanup(func() { s.log.Close() })
	s.importer = s.importing(s.log)
	return s
}

func (s *side) importing(log store.Log) *bundle.Importer {
	return &bundle.Importer{Log: log, Blobs: s.log.Blobs(), Encoder: s.encoder, Dir: filepath.Join(s.dir, "import"),
		Scratch: func(context.Context) (store.Log, func() error, error) {
			scratch := sessiontest.OpenStore(s.t, s.t.TempDir())
			return scratch, scratch.Close, nil
		}}
}

// record appends one event for each payload.
func (s *side) record(id string, payloads ...session.Payload) {
	s.t.Helper()
	for _, payload := range payloads {
		events, err := s.encoder.Encode(session.Origin{Actor: "local:1", Cause: "a", Trace: "b"}, payload)
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := s.log.Append(s.t.Context(), store.Batch{Aggregate: id, Mode: store.Any(), Events: events}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *side) id(prefix string) string { return s.encoder.IDs.New(prefix) }

func (s *side) create(parent string) string {
	id := s.id(session.PrefixSession)
	s.record(id, session.Created{Title: "A <title>", Location: session.Location{Directory: "/work", Root: "/work"}, Agent: "build", Model: model, Parent: parent})
	return id
}

// busy records a session that was left in the middle of everything: a call that runs,
// one that waits for a person, a task, a prompt and a compaction that are asked for.
func (s *side) busy(id, child string) {
	s.t.Helper()
	digest, err := s.log.Blobs().Put(s.t.Context(), []byte("a picture"))
	if err != nil {
		s.t.Fatal(err)
	}
	prompt := session.Prompt{Text: "Look <here> & there", Files: []session.PromptFile{{Blob: digest, Mime: "image/png", Name: "p.png"}}}
	first, second, answer := s.id("msg_"), s.id("msg_"), s.id("msg_")
	cost := int64(1200)
	s.record(id,
		session.PromptAdmitted{Message: first, Prompt: prompt, Delivery: session.Steer, Wake: true},
		session.ActivityStarted{Activity: "act_0000000000000000aaaaaaaaaaaaaa", Opener: session.OpenedByPrompt},
		session.PromptPromoted{Message: first, Prompt: prompt, Created: sessiontest.Clock{}.Now().UnixMilli()},
		session.ContextInitialized{Baseline: strings.Repeat("long ", 8000), Snapshot: session.Snapshot{"core/a": {Value: json.RawMessage(`{"x":1.50}`)}}},
		session.TurnStarted{Activity: "act_0000000000000000aaaaaaaaaaaaaa", Turn: 1, Step: 1, Attempt: 1, Location: "/work", Agent: "build", Model: model},
		session.StepStarted{Message: answer, Agent: "build", Model: model},
		session.TextEnded{Message: answer, Part: "text-0", Text: "I look"},
		session.ToolCalled{Message: answer, Call: "call-0", Name: "read", Input: json.RawMessage(`{"path":"a"}`)},
		session.ToolCalled{Message: answer, Call: "call-1", Name: "shell", Input: json.RawMessage(`{"command":"ls"}`)},
		session.ToolSucceeded{Message: answer, Call: "call-0", Content: []session.ToolContent{{Type: "file", Mime: "image/png", Blob: digest}}},
		session.PermissionAsked{Request: s.id("per_"), Message: answer, Call: "call-1", Agent: "build",
			Ask: session.PermissionRequest{Action: "shell", Resources: []string{"ls"}, Before: true}},
		session.QuestionAsked{Request: s.id("que_"), Agent: "build", Questions: []session.Question{{Text: "Which?"}}},
		session.TaskStarted{Message: answer, Call: "call-1", Session: child, Prompt: second, Agent: "build", Description: "look"},
		session.ChildAsked{Session: child, Request: "per_x"},
		session.PromptAdmitted{Message: s.id("msg_"), Prompt: session.Prompt{Text: "and then"}, Delivery: session.Queue, Wake: true},
		session.Renamed{Title: "Looking", Auto: true, Usage: &session.Usage{Input: 3, Output: 1}, Cost: &cost},
		session.CompactionRequested{},
		session.ResumeRequested{},
	)
}

func (s *side) export(id string, children bool) []byte {
	s.t.Helper()
	opened, err := bundle.Open(s.t.Context(), s.log, s.log.Blobs(), id, bundle.Options{Children: children, Plinth: "test", Now: at})
	if err != nil {
		s.t.Fatal(err)
	}
	var file bytes.Buffer
	if err := opened.Write(s.t.Context(), &file); err != nil {
		s.t.Fatal(err)
	}
	return file.Bytes()
}

func (s *side) take(file []byte) ([]bundle.Imported, error) {
	return s.importer.Import(s.t.Context(), session.Origin{Actor: "local:2"}, bytes.NewReader(file))
}

func (s *side) mustTake(file []byte) []bundle.Imported {
	s.t.Helper()
	imported, err := s.take(file)
	if err != nil {
		s.t.Fatal(err)
	}
	return imported
}

func (s *side) head(id string) int64 {
	s.t.Helper()
	page, err := s.log.Read(s.t.Context(), id, 1<<40, 1)
	if err != nil {
		s.t.Fatal(err)
	}
	return page.Head.Seq
}

// untouched holds the store to having nothing, and the folder of imports to be empty.
func (s *side) untouched() {
	s.t.Helper()
	if tables := sessiontest.Tables(s.t, s.log); tables != "" {
		s.t.Errorf("rows were written:\n%s", tables)
	}
	page, err := s.log.Feed(s.t.Context(), 0, 10)
	if err != nil || len(page.Events) != 0 {
		s.t.Errorf("%d events were written, %v", len(page.Events), err)
	}
	err = filepath.WalkDir(filepath.Join(s.dir, "blobs"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			s.t.Errorf("the blob %s was written", path)
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
	left, err := os.ReadDir(filepath.Join(s.dir, "import"))
	if err != nil || len(left) != 0 {
		s.t.Errorf("left in the folder: %v, %v", left, err)
	}
}

func TestAnImportedSessionIsTheExportedOne(t *testing.T) {
	from, to := newSide(t), newSide(t)
	id := from.create("")
	child := from.create(id)
	grandchild := from.create(child)
	from.busy(id, child)
	from.busy(grandchild, child)
	from.create("") // another one, which stays
	// Everything rests, so nothing is added.
	for _, one := range []string{grandchild, child, id} {
		from.settle(one)
	}

	file := from.export(id, true)
	imported := to.mustTake(file)
	want := []bundle.Imported{{Session: id, Events: from.head(id) + 1}, {Session: child, Events: 1}, {Session: grandchild, Events: from.head(grandchild) + 1}}
	if diff := cmp.Diff(want, imported); diff != "" {
		t.Error(diff)
	}
	only := from.without(id, child, grandchild)
	if diff := cmp.Diff(only, sessiontest.Tables(t, to.log)); diff != "" {
		t.Errorf("the tables differ (-from +to):\n%s", diff)
	}
	before := sessiontest.Tables(t, to.log)
	for _, again := range to.mustTake(file) {
		if again.Events != 0 || again.Interrupted {
			t.Errorf("the second time: %+v", again)
		}
	}
	if after := sessiontest.Tables(t, to.log); after != before {
		t.Error("the second time changed tables")
	}
	if got := to.export(id, true); !bytes.Equal(withoutHeaders(got), withoutHeaders(file)) {
		t.Error("exported again it is another file")
	}
}

// settle brings a session to rest as an import would.
func (s *side) settle(id string) {
	s.t.Helper()
	var rest []session.Payload
	err := s.log.View(s.t.Context(), func(tx store.Tx) (err error) {
		rest, err = session.LoadRest(s.t.Context(), tx, s.encoder.IDs, id)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.record(id, rest...)
}

// without answers the tables without the session that is not in the list.
func (s *side) without(ids ...string) string {
	var lines []string
	for row := range strings.SplitSeq(sessiontest.Tables(s.t, s.log), "\n") {
		for _, id := range ids {
			if strings.Contains(row, id) || strings.HasPrefix(row, "spent ") {
				lines = append(lines, row)
				break
			}
		}
	}
	return strings.Join(lines, "\n")
}

// withoutHeaders leaves out what differs with each export: when, and positions.
func withoutHeaders(file []byte) []byte {
	var kept [][]byte
	for text := range bytes.SplitSeq(file, []byte("\n")) {
		var l struct {
			Event map[string]any
			Blob  map[string]any
		}
		if json.Unmarshal(text, &l) != nil || l.Event == nil && l.Blob == nil {
			continue
		}
		delete(l.Event, "position")
		text, _ = json.Marshal(l)
		kept = append(kept, text)
	}
	return bytes.Join(kept, []byte("\n"))
}

func TestWhatRunsElsewhereRestsAfterAnImport(t *testing.T) {
	from := newSide(t)
	id := from.create("")
	child := from.create(id)
	from.busy(id, child)
	page, err := from.log.Read(t.Context(), id, -1, 100)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= len(page.Events); n++ {
		t.Run(fmt.Sprintf("%02d-%s", n, page.Events[n-1].Type), func(t *testing.T) {
			cut, to := newSide(t), newSide(t)
			for _, file := range []string{"a picture"} {
				if _, err := cut.log.Blobs().Put(t.Context(), []byte(file)); err != nil {
					t.Fatal(err)
				}
			}
			if err := cut.log.Replay(t.Context(), page.Events[:n], store.ReplayOptions{}); err != nil {
				t.Fatal(err)
			}
			file := cut.export(id, false)
			imported := to.mustTake(file)
			to.rests(id)
			if wantRest := n > 1; imported[0].Interrupted != wantRest {
				t.Errorf("interrupted is %v", imported[0].Interrupted)
			}
			head := to.head(id)
			if again := to.mustTake(file); again[0].Events != 0 || to.head(id) != head {
				t.Errorf("the second time: %+v, %d events after %d", again, to.head(id), head)
			}
		})
	}
}

// rests holds the store to having nothing that a start would go on with.
func (s *side) rests(id string) {
	s.t.Helper()
	err := s.log.View(s.t.Context(), func(tx store.Tx) error {
		running, err := session.LoadRunning(s.t.Context(), tx)
		if err != nil || len(running) != 0 {
			s.t.Errorf("running: %v, %v", running, err)
		}
		woken, err := session.LoadWoken(s.t.Context(), tx)
		if err != nil || len(woken) != 0 {
			s.t.Errorf("woken: %v, %v", woken, err)
		}
		parents, err := session.LoadTaskParents(s.t.Context(), tx)
		if err != nil || len(parents) != 0 {
			s.t.Errorf("tasks: %v, %v", parents, err)
		}
		permissions, err := session.LoadPermissions(s.t.Context(), tx, "")
		if err != nil || len(permissions) != 0 {
			s.t.Errorf("permissions: %v, %v", permissions, err)
		}
		questions, err := session.LoadQuestions(s.t.Context(), tx, "")
		if err != nil || len(questions) != 0 {
			s.t.Errorf("questions: %v, %v", questions, err)
		}
		current, err := session.LoadSession(s.t.Context(), tx, id)
		if err != nil || current.Compact >= 0 || current.Resume >= 0 {
			s.t.Errorf("session: %+v, %v", current, err)
		}
		messages, err := session.LoadSince(s.t.Context(), tx, id, -1)
		for _, message := range messages {
			for _, part := range message.Parts {
				if part.Tool != nil && part.Tool.Unsettled() {
					s.t.Errorf("call %s is unsettled", part.ID)
				}
			}
			if message.Type == session.MessageAssistant && message.Completed == 0 {
				s.t.Errorf("message %s is open", message.ID)
			}
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
}

// resum gives a file that was changed the sum it should have.
func resum(text string) []byte {
	lines := strings.SplitAfter(text, "\n")
	body := strings.Join(lines[:len(lines)-2], "")
	sum := sha256.Sum256([]byte(body))
	return fmt.Appendf([]byte(body), `{"end":{"lines":%d,"sha256":"%s"}}`+"\n", len(lines)-2, hex.EncodeToString(sum[:]))
}

func TestFilesThatAreRefused(t *testing.T) {
	from := newSide(t)
	id := from.create("")
	from.busy(id, "ses_0000000000000000aaaaaaaaaaaaaa")
	whole := string(from.export(id, false))
	lines := strings.SplitAfter(whole, "\n")
	change := func(old, with string) []byte {
		if !strings.Contains(whole, old) {
			t.Fatalf("the file has no %s", old)
		}
		return resum(strings.Replace(whole, old, with, 1))
	}
	swapped := append([]string(nil), lines...)
	swapped[1], swapped[2] = swapped[2], swapped[1]
	blob := lines[len(lines)-3]
	foreign := fmt.Sprintf(`{"blob":{"digest":"%x","data":"%s"}}`+"\n", sha256.Sum256([]byte("x")), base64.StdEncoding.EncodeToString([]byte("x")))
	for name, test := range map[string]struct {
		file []byte
		want string
	}{
		"empty":           {nil, "is empty"},
		"no bundle":       {[]byte("hello\n"), "has no end"},
		"tampered":        {[]byte(strings.Replace(whole, "I look", "I lOok", 1)), "does not have the sum"},
		"last line gone":  {[]byte(strings.Join(lines[:len(lines)-2], "")), "has no end"},
		"cut in a line":   {[]byte(whole[:len(whole)/2]), "was cut off"},
		"something after": {[]byte(whole + "{}\n"), "behind the end"},
		"wrong order":     {resum(strings.Join(swapped, "")), "0 must come here"},
		"foreign blob":    {resum(strings.Replace(whole, blob, blob+foreign, 1)), "no event of the file names the blob"},
		"blob gone":       {resum(strings.Replace(whole, blob, "", 1)), "lacks the blob"},
		"blob changed":    {change(base64.StdEncoding.EncodeToString([]byte("a picture")), base64.StdEncoding.EncodeToString([]byte("a pictura"))), "do not have that SHA-256"},
		"blob twice":      {resum(strings.Replace(whole, blob, blob+blob, 1)), "there twice"},
		"event after":     {resum(strings.Replace(whole, blob, blob+lines[1], 1)), "stands behind a blob"},
		"format":          {change(`"format":"plinth.session"`, `"format":"tar"`), `the format is "tar"`},
		"version":         {change(`"version":1,"session"`, `"version":2,"session"`), "this program reads 1"},
		"field":           {change(`"event":{"id"`, `"event":{"more":1,"id"`), "unknown field"},
		"type":            {change("session.text.ended", "session.dance.ended"), "a newer Plinth may read it"},
		"id":              {change(`"session":"`+id+`","first"`, `"session":"host","first"`), "is not an id"},
		"events":          {change(`"events":19`, `"events":20`), "its header says 20"},
		"no events":       {change(`"events":19`, `"events":0`), "at least one event"},
		"other session":   {change(`"session":"`+id+`","seq":3`, `"session":"ses_x","seq":3`), "which has no header"},
		"refused by log":  {change(`"type":"session.created"`, `"type":"session.archived"`), "decode session.archived"},
	} {
		t.Run(name, func(t *testing.T) {
			to := newSide(t)
			_, err := to.take(test.file)
			var refused *bundle.FormatError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want a FormatError with %q", err, test.want)
			}
			to.untouched()
		})
	}
}

func TestEventsThatCannotFollowAreRefused(t *testing.T) {
	from, to := newSide(t), newSide(t)
	id := from.create("")
	from.record(id, session.ActivityStarted{Activity: "act_a", Opener: session.OpenedByPrompt}, session.ActivityEnded{Activity: "act_a", Outcome: session.Completed})
	file := resum(strings.Replace(string(from.export(id, false)), `"activity":"act_a","outcome"`, `"activity":"act_b","outcome"`, 1))
	var refused *bundle.FormatError
	if _, err := to.take(file); !errors.As(err, &refused) || !strings.Contains(err.Error(), "cannot follow each other") {
		t.Errorf("error %v", err)
	}
	to.untouched()
}

func TestAFileThatWasPrunedPastWhatIsHereIsAConflict(t *testing.T) {
	from, to := newSide(t), newSide(t)
	id := from.create("")
	to.mustTake(from.export(id, false))
	from.record(id, session.Renamed{Title: "Between"}, session.HistoryPruned{Session: session.Session{
		Title: "Between", Location: session.Location{Directory: "/work", Root: "/work"}, Agent: "build", Model: model, Created: at.UnixMilli()}})
	if err := from.log.Prune(t.Context(), id, from.head(id)); err != nil {
		t.Fatal(err)
	}
	had := to.head(id)
	_, err := to.take(from.export(id, false))
	if conflict, ok := errors.AsType[*session.ConflictError](err); !ok || !strings.Contains(conflict.Error(), "is here up to event 0, and the file begins with event 2") {
		t.Errorf("error %v", err)
	}
	if to.head(id) != had {
		t.Errorf("the session ends with %d, it was %d", to.head(id), had)
	}
}

func TestLimitsOfAFile(t *testing.T) {
	from := newSide(t)
	id := from.create("")
	from.create(id)
	from.busy(id, "ses_0000000000000000aaaaaaaaaaaaaa")
	file := from.export(id, true)
	for name, test := range map[string]struct {
		limits bundle.Limits
		want   string
	}{
		"line":     {bundle.Limits{Bytes: 1 << 20, Line: 1000, Sessions: 2}, "longer than 1000 bytes"},
		"bytes":    {bundle.Limits{Bytes: 2000, Line: 1 << 20, Sessions: 2}, "larger than 2000 bytes"},
		"sessions": {bundle.Limits{Bytes: 1 << 20, Line: 1 << 20, Sessions: 1}, "more than 1 sessions"},
	} {
		t.Run(name, func(t *testing.T) {
			to := newSide(t)
			to.importer.Limits = test.limits
			if _, err := to.take(file); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			to.untouched()
		})
	}
}

func TestASessionThatIsHereAlready(t *testing.T) {
	from, to := newSide(t), newSide(t)
	id := from.create("")
	early := from.export(id, false)
	from.record(id, session.Renamed{Title: "later"})
	late := from.export(id, false)

	to.mustTake(early)
	if imported := to.mustTake(late); imported[0].Events != 1 {
		t.Errorf("the later export brought %+v", imported)
	}
	if imported := to.mustTake(early); imported[0].Events != 0 {
		t.Errorf("the earlier export brought %+v", imported)
	}

	to.record(id, session.Renamed{Title: "another way"})
	from.record(id, session.Renamed{Title: "one way"})
	var conflict *session.ConflictError
	before := sessiontest.Tables(t, to.log)
	if _, err := to.take(from.export(id, false)); !errors.As(err, &conflict) || !strings.Contains(err.Error(), "event 2 differs") {
		t.Errorf("diverged: %v", err)
	}
	if after := sessiontest.Tables(t, to.log); after != before {
		t.Error("a refused import changed tables")
	}

	if err := to.log.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := to.take(early); !errors.As(err, &conflict) || !strings.Contains(err.Error(), "was deleted here") {
		t.Errorf("a tombstone: %v", err)
	}
}

func TestIDsOfAnotherSessionAreRefused(t *testing.T) {
	from, to := newSide(t), newSide(t)
	message := from.id("msg_")
	for _, s := range []*side{from, to} {
		id := s.create("")
		s.record(id, session.Synthetic{Message: message, Text: "a note"})
		if s == from {
			defer func() {
				var conflict *session.ConflictError
				if _, err := to.take(from.export(id, false)); !errors.As(err, &conflict) || !strings.Contains(err.Error(), message) {
					t.Errorf("error %v", err)
				}
				if head := to.head(id); head != -1 {
					t.Errorf("events up to %d were written", head)
				}
			}()
		}
	}
}

// crashing closes after a number of replays, as a host that dies.
type crashing struct {
	store.Log
	left int
}

func (c *crashing) Replay(ctx context.Context, events []store.Event, options store.ReplayOptions) error {
	if c.left == 0 {
		return fmt.Errorf("die: %w", store.ErrClosed)
	}
	c.left--
	return c.Log.Replay(ctx, events, options)
}

func TestAnImportThatIsCutOffIsFinished(t *testing.T) {
	from := newSide(t)
	id := from.create("")
	child := from.create(id)
	from.busy(id, child)
	from.record(child, session.Renamed{Title: "child"})
	from.record(id, session.Renamed{Title: "parent"})
	file := from.export(id, true)
	whole := newSide(t)
	whole.mustTake(file)
	for left := range 6 {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			to := newSide(t)
			_, err := to.importing(&crashing{Log: to.log, left: left}).Import(t.Context(), session.System(), bytes.NewReader(file))
			if left == 5 {
				if err != nil {
					t.Fatalf("there are no more steps, and it failed: %v", err)
				}
			} else if !errors.Is(err, store.ErrClosed) {
				t.Fatalf("error %v", err)
			}
			if err := os.WriteFile(filepath.Join(to.dir, "import", "incoming-1"), []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
			imported, err := to.importer.Finish(t.Context())
			if err != nil || left < 5 && len(imported) != 2 {
				t.Fatalf("finished %v, %v", imported, err)
			}
			to.rests(id)
			if to.head(id) != whole.head(id) || to.head(child) != whole.head(child) {
				t.Errorf("heads %d and %d, want %d and %d", to.head(id), to.head(child), whole.head(id), whole.head(child))
			}
			if left, err := os.ReadDir(filepath.Join(to.dir, "import")); err != nil || len(left) != 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

func TestAMissingBlobFailsTheExport(t *testing.T) {
	from := newSide(t)
	id := from.create("")
	from.busy(id, "ses_0000000000000000aaaaaaaaaaaaaa")
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("a picture")))
	if err := os.Remove(filepath.Join(from.dir, "blobs", sum[:2], sum[2:])); err != nil {
		t.Fatal(err)
	}
	opened, err := bundle.Open(t.Context(), from.log, from.log.Blobs(), id, bundle.Options{Now: at})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := opened.Write(t.Context(), &file); err == nil || !strings.Contains(err.Error(), sum) {
		t.Errorf("error %v", err)
	}
	if bytes.Contains(file.Bytes(), []byte(`{"end"`)) {
		t.Error("the broken file has an end")
	}
}

func TestExportOfNoSession(t *testing.T) {
	from := newSide(t)
	for _, id := range []string{"host", "ses_unknown"} {
		if _, err := bundle.Open(t.Context(), from.log, from.log.Blobs(), id, bundle.Options{}); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
}
