package legacy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/legacy"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/bundle"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

const (
	shop    = "4b0ea68d7af9a6031a7ffda7ad66e0cb83315750"
	basket  = "ses_66e2bffe5ffeAbCdEfGhIjKlMn"
	child   = "ses_66e2bffdffeQrStUvWxYz012345"
	prompt1 = "msg_991d40000001aaaaaaaaaaaaaa"
	answer1 = "msg_991d40000002aaaaaaaaaaaaaa"
)

// fixture copies the storage of the tests, so that it can be spoilt.
func fixture(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/storage")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// taken imports every session of the storage into a store and answers the old ids with
// what was wrong.
func taken(t *testing.T, folder string, log *sqlite.Store) map[string]error {
	t.Helper()
	storage, err := legacy.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer storage.Close()
	listed, err := storage.List("")
	if err != nil {
		t.Fatal(err)
	}
	importer := &bundle.Importer{Log: log, Blobs: log.Blobs(), Encoder: session.Encoder{IDs: session.NewIDs(sessiontest.Clock{}), Clock: sessiontest.Clock{}},
		Dir: t.TempDir(), Scratch: func(context.Context) (store.Log, func() error, error) {
			scratch := sessiontest.OpenStore(t, t.TempDir())
			return scratch, scratch.Close, nil
		}}
	all := map[string]error{}
	for _, one := range listed {
		converted, err := storage.Convert(t.Context(), one)
		var file bytes.Buffer
		if err == nil {
			err = converted.Write(&file)
		}
		if err == nil {
			_, err = importer.Import(t.Context(), session.System(), &file)
		}
		all[one.ID] = err
	}
	return all
}

func newLog(t *testing.T) *sqlite.Store {
	t.Helper()
	log := sessiontest.OpenStore(t, t.TempDir())
	t.Cleanup(func() { log.Close() })
	return log
}

func load(t *testing.T, log *sqlite.Store, slug string) (s session.Session, messages []session.Message) {
	t.Helper()
	err := log.View(t.Context(), func(tx store.Tx) error {
		var id string
		if err := tx.QueryRow(t.Context(), `SELECT id FROM session WHERE slug = $1`, slug).Scan(&id); err != nil {
			return err
		}
		var err error
		if s, err = session.LoadSession(t.Context(), tx, id); err != nil {
			return err
		}
		messages, err = session.LoadMessages(t.Context(), tx, id, -1, 1000)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, messages
}

func TestASessionIsTakenOver(t *testing.T) {
	log := newLog(t)
	for id, err := range taken(t, "testdata/storage", log) {
		if err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	s, messages := load(t, log, "brave-otter")
	below, _ := load(t, log, "calm-fox")
	if err := session.CheckID(session.PrefixSession, s.ID); err != nil {
		t.Error(err)
	}
	asked := int64(-1) // by the last prompt
	for _, message := range messages {
		if message.Type == session.MessageUser {
			asked = message.Seq
		}
	}
	want := session.Session{ID: s.ID, Title: "Fix the basket <total>", Slug: "brave-otter", Agent: "plan",
		Location: session.Location{Directory: "/home/ana/shop/web", Root: "/home/ana/shop", Git: true},
		Model:    session.ModelRef{Provider: "openai", Model: "gpt-5"}, Created: 1764000100000, Archived: 1764001000000,
		Changes:   &session.Changes{Additions: 3, Deletions: 1, Files: []session.FileDiff{{Path: "web/basket.ts", Additions: 3, Deletions: 1}}},
		Interrupt: -1, Resume: -1, Compact: -1, Pruned: -1, History: s.History, Compaction: s.Compaction,
		Rewritten: s.Compaction, Answered: asked}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("the session (-want +got):\n%s", diff)
	}
	if below.Parent != s.ID || below.Depth != 1 {
		t.Errorf("the child has the parent %s at depth %d", below.Parent, below.Depth)
	}
	var kinds []session.MessageType
	for _, message := range messages {
		kinds = append(kinds, message.Type)
	}
	wantKinds := []session.MessageType{session.MessageUser, session.MessageSynthetic, session.MessageSynthetic, session.MessageAssistant,
		session.MessageAssistant, session.MessageCompaction, session.MessageUser, session.MessageAssistant}
	if diff := cmp.Diff(wantKinds, kinds); diff != "" {
		t.Fatalf("the messages (-want +got):\n%s", diff)
	}
	checkPrompt(t, messages[0].Prompt)
	if note := messages[1]; note.Text != "Called the Read tool with web/basket.ts" || note.Ignored {
		t.Errorf("the synthetic text is %+v", note)
	}
	if tip := messages[2]; tip.Text != "A tip for people only" || !tip.Ignored {
		t.Errorf("the ignored text is %+v", tip)
	}
	checkAnswer(t, messages[3])
	checkInterrupted(t, messages[4])
	if s.Compaction != messages[5].Seq || s.History != messages[4].Seq || messages[5].Text != "We fixed the basket's total." || messages[5].Reason != session.CompactionAuto {
		t.Errorf("the compaction is %+v, the session's are %d and %d", messages[5], s.Compaction, s.History)
	}
	if cost := messages[7].Cost; cost == nil || *cost != 100 || messages[7].Agent != "plan" || messages[7].Completed != 1764000306000 {
		t.Errorf("the last answer is %+v", messages[7])
	}
}

func checkPrompt(t *testing.T, prompt *session.Prompt) {
	t.Helper()
	if len(prompt.Files) != 1 || prompt.Files[0].Mime != "image/png" || prompt.Files[0].Name != "total.png" || len(prompt.Files[0].Blob) != 64 {
		t.Errorf("files %+v", prompt.Files)
	}
	prompt.Files = nil
	want := &session.Prompt{
		Text: "The total in @web/basket.ts is wrong, see the picture. @explore may help.\n\n[file basket.ts: /home/ana/shop/web/basket.ts]\n\n" +
			"[task for explore: rounding] Look for rounding",
		Agents: []session.PromptAgent{{Name: "explore"}}, Agent: "build", Variant: "high", System: "Be brief.", Tools: map[string]bool{"webfetch": false},
		Model: &session.ModelRef{Provider: "anthropic", Model: "claude-sonnet-4-5"},
	}
	if diff := cmp.Diff(want, prompt); diff != "" {
		t.Errorf("the prompt (-want +got):\n%s", diff)
	}
}

func checkAnswer(t *testing.T, got session.Message) {
	t.Helper()
	if len(got.Parts) != 4 || len(got.Parts[2].Tool.Content) != 2 || len(got.Parts[2].Tool.Content[1].Blob) != 64 {
		t.Fatalf("the answer has %+v", got.Parts)
	}
	got.Parts[2].Tool.Content[1].Blob = ""
	cost := int64(12345679) // of 0.0123456785 dollars
	snapshot := func(digit string) string { return strings.Repeat(digit, 40) }
	want := session.MessageBody{Agent: "build", Model: &session.ModelRef{Provider: "anthropic", Model: "claude-sonnet-4-5"}, Finish: session.FinishToolCalls,
		Usage: &session.Usage{Input: 1150, Output: 25, Reasoning: 5, CacheRead: 1000, CacheWrite: 50}, Cost: &cost, Completed: 1764000106000,
		Before: snapshot("1"), After: snapshot("3"), Files: []session.FileDiff{{Path: "/home/ana/shop/web/basket.ts"}},
		Retries: []session.Retry{{Attempt: 2, At: 1764000100500, Error: session.Failure{Code: "unknown", Message: "Overloaded", Status: 529, Retryable: true}}}}
	if diff := cmp.Diff(want, got.MessageBody); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
	parts := []session.MessagePart{
		{Type: "reasoning", Text: "Cents are floats."}, {Type: "text", Text: "I look at the file."},
		{Type: "tool", ID: "toolu_01", Tool: &session.ToolPart{Name: "read", State: session.ToolStateCompleted, Input: json.RawMessage(`{"filePath":"web/basket.ts"}`),
			Content: []session.ToolContent{{Type: "text", Text: "1: let total = 0.1 + 0.2"}, {Type: "file", Mime: "image/png", Name: "shot.png"}},
			Title:   "web/basket.ts", Metadata: json.RawMessage(`{"preview":"x"}`), Started: 1764000101100, Settled: 1764000101200, Pruned: 1764000800000}},
		{Type: "tool", ID: "toolu_02", Tool: &session.ToolPart{Name: "mcp_shop_lookup", State: session.ToolStateFailed, Input: json.RawMessage(`{"q":1}`),
			Error: &session.ToolError{Kind: "failed", Message: "404 not found"}, Started: 1764000101300, Settled: 1764000101400}},
	}
	for i := range 2 {
		got.Parts[i].ID = "" // they have the old ones
	}
	if diff := cmp.Diff(parts, got.Parts); diff != "" {
		t.Errorf("the parts (-want +got):\n%s", diff)
	}
}

func checkInterrupted(t *testing.T, got session.Message) {
	t.Helper()
	if got.Error == nil || got.Error.Code != session.FailureInterrupted || got.Completed == 0 || len(got.Parts) != 2 {
		t.Errorf("the answer that was aborted is %+v", got)
	}
	for _, part := range got.Parts {
		if part.Tool.State != session.ToolStateFailed || part.Tool.Error.Kind != "cancelled" {
			t.Errorf("the call is %+v", part.Tool)
		}
	}
	if raw := got.Parts[1].Tool.Raw; raw != `{"comm` {
		t.Errorf("what arrived of the input is %q", raw)
	}
}

func TestTwiceChangesNothing(t *testing.T) {
	log := newLog(t)
	taken(t, "testdata/storage", log)
	before := sessiontest.Tables(t, log)
	for id, err := range taken(t, "testdata/storage", log) {
		if err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if after := sessiontest.Tables(t, log); after != before {
		t.Error("the second time changed tables")
	}
}

func TestABadSessionIsSkippedWhole(t *testing.T) {
	message := filepath.Join("message", basket, prompt1+".json")
	part := func(t *testing.T, folder, kind string) string {
		files, err := filepath.Glob(filepath.Join(folder, "part", answer1, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(content, []byte(`"type": "`+kind+`"`)) {
				return strings.TrimPrefix(path, folder+"/")
			}
		}
		t.Fatalf("there is no %s", kind)
		return ""
	}
	for name, test := range map[string]struct {
		spoil func(t *testing.T, folder string)
		want  string
	}{
		"no JSON":         {func(t *testing.T, folder string) { write(t, folder, message, "{") }, message + ": it is no JSON"},
		"a type":          {replace(message, `"created": 1764000100001`, `"created": "now"`), "time.created: it is a JSON string"},
		"a role":          {replace(message, `"role": "user"`, `"role": "root"`), "role: it is root"},
		"another session": {replace(message, `"sessionID": "`+basket, `"sessionID": "`+child), "sessionID: it is not the session"},
		"another id":      {replace(message, `"id": "msg_991d40000001`, `"id": "msg_991d4000ffff`), "id: it is not that of the file's name"},
		"a time":          {replace(message, `"created": 1764000100001`, `"created": -1`), "time: it must have milliseconds"},
		"a name": {func(t *testing.T, folder string) {
			write(t, folder, filepath.Join("message", basket, "a b.json"), "{}")
		}, "the name is none of the storage's"},
		"a part's type": {func(t *testing.T, folder string) {
			replace(part(t, folder, "patch"), `"type": "patch"`, `"type": "dance"`)(t, folder)
		}, "none of the twelve types"},
		"a part's message": {func(t *testing.T, folder string) {
			replace(part(t, folder, "patch"), `"messageID": "`+answer1, `"messageID": "`+prompt1)(t, folder)
		}, "messageID: it is not the message"},
		"a status": {func(t *testing.T, folder string) {
			replace(part(t, folder, "tool"), `"status": "completed"`, `"status": "lost"`)(t, folder)
		}, "state.status"},
		"an attachment": {func(t *testing.T, folder string) {
			replace(part(t, folder, "tool"), `data:image/png;base64,`, `data:image/png;base64,%%`)(t, folder)
		}, "state.attachments.url: it is no base64"},
		"a cost": {func(t *testing.T, folder string) {
			replace(part(t, folder, "step-finish"), `0.0123456785`, `1e999999999`)(t, folder)
		}, "cost: "},
		"a great cost": {func(t *testing.T, folder string) {
			replace(part(t, folder, "step-finish"), `0.0123456785`, `1e30`)(t, folder)
		}, "more than can be counted"},
		"tokens": {func(t *testing.T, folder string) {
			replace(part(t, folder, "step-finish"), `"input": 100`, `"input": -1`)(t, folder)
		}, "tokens: -1 is no number"},
		"a link": {func(t *testing.T, folder string) {
			elsewhere := filepath.Join(t.TempDir(), "secret.json")
			write(t, "", elsewhere, `{"id":"secret"}`)
			link(t, elsewhere, filepath.Join(folder, message))
		}, "links are not followed"},
		"a linked folder": {func(t *testing.T, folder string) {
			link(t, filepath.Join(folder, "message", child), filepath.Join(folder, "part", answer1))
		}, "links are not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			folder, log := fixture(t), newLog(t)
			test.spoil(t, folder)
			var bad *legacy.FileError
			for id, err := range taken(t, folder, log) {
				switch {
				case id != basket && err != nil:
					t.Errorf("%s: %v", id, err)
				case id == basket && (!errors.As(err, &bad) || !strings.Contains(err.Error(), test.want)):
					t.Errorf("error %v, want %q", err, test.want)
				}
			}
			if rows := sessiontest.Tables(t, log); strings.Contains(rows, "basket") || !strings.Contains(rows, "calm-fox") {
				t.Errorf("the store has\n%s", rows)
			}
		})
	}
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func replace(name, old, with string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		t.Helper()
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !bytes.Contains(content, []byte(old)) {
			t.Fatalf("%s has no %s, %v", name, old, err)
		}
		write(t, folder, name, strings.ReplaceAll(string(content), old, with))
	}
}

func link(t *testing.T, from, to string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(to), os.Symlink(from, to)); err != nil {
		t.Fatal(err)
	}
}

func TestStoragesThatAreRefused(t *testing.T) {
	for version, want := range map[string]string{"3": "use a newer one", "0": "run the program that wrote it once more", `"x"`: "it is no JSON", "1.5": "use a newer one"} {
		folder := fixture(t)
		write(t, folder, "migration", version)
		if _, err := legacy.Open(folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("version %s: %v", version, err)
		}
	}
	if _, err := legacy.Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "there is no such folder") {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestParentsInACircle(t *testing.T) {
	folder, log := fixture(t), newLog(t)
	replace(filepath.Join("session", shop, basket+".json"), `"slug"`, `"parentID": "`+child+`", "slug"`)(t, folder)
	found := taken(t, folder, log)
	for _, id := range []string{basket, child} {
		if err := found[id]; err == nil || !strings.Contains(err.Error(), "in a circle") {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestAFileThatIsTooLarge(t *testing.T) {
	folder := fixture(t)
	path := filepath.Join(folder, "message", basket, prompt1+".json")
	if err := os.Truncate(path, legacy.MaxFile+1); err != nil {
		t.Fatal(err)
	}
	storage, err := legacy.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer storage.Close()
	if _, err := storage.Convert(t.Context(), legacy.Listed{Project: shop, ID: basket}); err == nil || !strings.Contains(err.Error(), "the limit of a file") {
		t.Errorf("error %v", err)
	}
	listed, err := storage.List("global")
	if err != nil || len(listed) != 1 {
		t.Fatalf("listed %v, %v", listed, err)
	}
	converted, err := storage.Convert(t.Context(), listed[0])
	if err == nil {
		err = converted.Write(io.Discard)
	}
	if err != nil || converted.Messages != 0 || converted.Events != 1 {
		t.Errorf("the empty session: %+v, %v", converted, err)
	}
}
