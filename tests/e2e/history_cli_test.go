package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/tests/warm"
)

// done runs a command line that must succeed and answers its output.
func (w *world) done(args ...string) string {
	w.t.Helper()
	out, notes, code := w.plinth(args...)
	if code != 0 {
		w.t.Fatalf("plinth %s: exit %d\n%s%s", strings.Join(args, " "), code, out, notes)
	}
	return out
}

// json runs a command line with --json and reads what it prints.
func (w *world) json(to any, args ...string) {
	w.t.Helper()
	out := w.done(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), to); err != nil {
		w.t.Fatalf("plinth %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// says holds the output of a command line that must succeed to having the texts.
func (w *world) says(line string, texts ...string) {
	w.t.Helper()
	out := w.done(strings.Fields(line)...)
	for _, text := range texts {
		if !strings.Contains(out, text) {
			w.t.Errorf("plinth %s does not say %q:\n%s", line, text, out)
		}
	}
}

// TestHistoryByHand: a person names, archives, forks, condenses, prunes, reverts and
// removes sessions of a host that runs, from the command line.
func TestHistoryByHand(t *testing.T) {
	t.Parallel()
	a := newAnnals(t, "[compaction]\nkeep = 0\n")
	a.done("run", "[write 1] for a start")
	id, _, _ := strings.Cut(a.done("sessions"), " ")
	var shown protocol.Session
	a.json(&shown, "sessions", "show", id)
	slug := shown.Slug
	if shown.ID != id || slug == "" || shown.Changes == nil || shown.Changes.Total != files {
		t.Fatalf("%+v", shown)
	}

	// A name, and out of sight.
	a.says("sessions rename "+slug+" Notes", id, slug, "Notes")
	a.json(&shown, "sessions", "archive", slug)
	if shown.Title != "Notes" || shown.Archived == nil {
		t.Errorf("archived: %+v", shown)
	}
	if out := a.done("sessions"); strings.Contains(out, id) {
		t.Errorf("it is listed:\n%s", out)
	}
	a.says("sessions --archived", id)
	a.says("sessions unarchive "+slug, id)
	a.says("sessions --text Notes", id)

	// What became of the files, and back.
	a.done("run", "--session", slug, "[write 2] and this")
	a.says("sessions changes "+slug, "+400", fileName(0), "24 files")
	a.says("sessions changes "+slug+" --patch --path "+fileName(3), "+version 2 of file 3")
	second := a.message(id, "[write 2]")
	a.says("sessions revert "+slug+" "+second, id, "goes back to before "+second, "restored "+fileName(5))
	a.are(1)
	a.says("sessions revert "+slug+" --clear", "no revert is staged")
	a.are(2)
	a.json(&shown, "sessions", "revert", slug, second)
	if shown.Revert == nil || shown.Revert.Message != second || len(shown.Revert.Files) != files {
		t.Errorf("staged: %+v", shown.Revert)
	}
	a.says("sessions revert "+slug+" --commit", "no revert is staged")
	a.are(1)
	if texts := a.users(id); len(texts) != 1 {
		t.Errorf("the transcript has %q", texts)
	}

	// A fork goes its own way.
	var fork protocol.Session
	a.done("run", "--session", slug, "[third]")
	a.json(&fork, "sessions", "fork", slug, "--message", a.message(id, "[write 1]"), "--title", "Another way")
	if fork.Fork == nil || fork.Fork.SessionID != id || fork.Title != "Another way" {
		t.Errorf("fork: %+v", fork)
	}
	a.done("run", "--session", fork.ID, "[other]")
	if diff := cmp.Diff([]string{"[write 1] for a start", "[other]"}, a.users(fork.ID)); diff != "" {
		t.Error(diff)
	}
	a.says("sessions show "+fork.Slug, "fork of", id)

	// A summary, and only what came since.
	a.done("run", "--session", slug, strings.Repeat("word ", 4000))
	var report protocol.ContextReport
	a.json(&report, "sessions", "context", slug)
	if report.SessionID != id || len(report.Messages) != 7 || report.Tokens == 0 {
		t.Errorf("context: %+v", report)
	}
	a.says("sessions context "+slug, "core/environment", "read", "the largest part is the message")
	a.says("sessions compact "+slug+" --wait", summary)
	if err := a.prune(a.within(), id); err != nil {
		t.Fatal(err)
	}
	var pruned protocol.PrunedSession
	a.json(&pruned, "sessions", "prune", slug)
	if pruned.SessionID != id || pruned.Pruned || pruned.First == 0 {
		t.Errorf("pruned again: %+v", pruned)
	}
	a.says("sessions prune "+slug, "nothing to take away")
	a.says("sessions retention "+slug+" days 30", id)
	a.done("run", "--session", slug, "[goes on]")

	// Away with it.
	if out := a.done("sessions", "remove", slug, "--yes"); strings.TrimSpace(out) != id {
		t.Errorf("removed %q", out)
	}
	if _, notes, code := a.plinth("sessions", "show", id); code != 1 || !strings.Contains(notes, "gone: the session was deleted") {
		t.Errorf("after the removal: exit %d %s", code, notes)
	}
	var removed protocol.RemovedSessions
	if a.json(&removed, "sessions", "remove", id, "--yes"); len(removed.Sessions) != 0 {
		t.Errorf("removed again: %+v", removed)
	}
	a.done("run", "--session", fork.ID, "[alone]")
}

// message finds the id of the prompt that begins with a text.
func (a *annals) message(id, text string) string {
	a.t.Helper()
	page, err := a.host.client.Messages(a.within(), id, protocol.ListMessages{Limit: 200})
	if err != nil {
		a.t.Fatal(err)
	}
	for _, message := range page.Messages {
		if message.Type == protocol.MessageUser && strings.HasPrefix(message.Prompt.Text, text) {
			return message.ID
		}
	}
	a.t.Fatalf("%s has no prompt %q", id, text)
	return ""
}

// are holds the files to a version.
func (a *annals) are(version int) {
	a.t.Helper()
	for i := range files {
		if text, err := os.ReadFile(filepath.Join(a.project, fileName(i))); err != nil || string(text) != fileText(version, i) {
			a.t.Errorf("%s is not of version %d: %.40q, %v", fileName(i), version, text, err)
		}
	}
}

// TestCarriedByHand: a session is carried to another data folder, shown to people, and
// the store backed up, restored and looked at, from the command line.
func TestCarriedByHand(t *testing.T) {
	t.Parallel()
	a := newAnnals(t, "")
	id := a.host.session(a.world)
	a.say(id, "[child] "+strings.Repeat("word ", 5000))
	child, slug := a.children(id)[0], func() string {
		var shown protocol.Session
		a.json(&shown, "sessions", "show", id)
		return shown.Slug
	}()
	path := func(name string) string { return filepath.Join(a.folder, name) }
	elsewhere := path("data/elsewhere")

	if out := a.done("sessions", "export", slug, "--children", "-o", path("one.ndjson")); out != "" {
		t.Errorf("it prints %q", out)
	}
	if line := a.done("sessions", "export", slug); !strings.HasPrefix(line, "{") || strings.Contains(line, child+`","first"`) {
		t.Errorf("without its children: %.300s", line)
	}
	a.says("sessions import "+path("one.ndjson"), id+"  is here already", child+"  is here already")
	for name, begins := range map[string]string{"page.html": "<!", "page.json": "{", "page.md": "# "} {
		a.done("sessions", "share", slug, "-o", path(name))
		if text, err := os.ReadFile(path(name)); err != nil || !strings.HasPrefix(strings.ToLower(string(text)), begins) || !strings.Contains(string(text), "[child]") {
			t.Errorf("%s: %.100q, %v", name, text, err)
		}
		if info, err := os.Stat(path(name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}

	var backup protocol.Backup
	a.json(&backup, "backup", path("backup"))
	if backup.Folder != path("backup") || backup.Bytes == 0 || backup.Blobs == 0 || len(backup.Damaged) != 0 {
		t.Errorf("%+v", backup)
	}
	a.says("backup "+path("second"), path("second"), "blobs of")
	var restored protocol.Backup
	a.json(&restored, "restore", path("backup"), "--data", elsewhere)
	if restored.Log == backup.Log || restored.Log == "" {
		t.Errorf("restored %+v of %+v", restored, backup)
	}
	if found := a.healthy(elsewhere); found.Audited != 2 || found.Store.Log != restored.Log {
		t.Errorf("%+v", found)
	}
	a.says("doctor --data "+elsewhere, "replayed", "0 differences", restored.Log)

	// Elsewhere it goes on.
	if err := warm.Share(filepath.Join(elsewhere, "cache"), compiled); err != nil {
		t.Fatal(err)
	}
	a.private(a.folder)
	a.says("sessions show "+slug+" --data "+elsewhere, id)
	a.done("run", "--data", elsewhere, "--session", slug, "[elsewhere]")
	var result protocol.ImportResult
	a.json(&result, "sessions", "import", path("one.ndjson"), "--data", elsewhere)
	if len(result.Sessions) != 2 || result.Sessions[0].Events != 0 {
		t.Errorf("an older export: %+v", result)
	}
}
