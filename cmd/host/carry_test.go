package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store/sqlite"
)

// place answers a path beside the data folder.
func (r *rig) place(name string) string { return filepath.Join(filepath.Dir(r.data), name) }

func TestSessionsAreCarried(t *testing.T) {
	r, other := newRig(t), newRig(t)
	id := r.session()
	if _, err := r.backend.sessions.Synthetic(r.within(), session.System(), session.SyntheticRequest{Session: id, Text: "<b>a note</b>"}); err != nil {
		t.Fatal(err)
	}
	file := r.place("session.ndjson")
	if printed, err := r.command("sessions", "export", id, "-o", file, "--children"); err != nil {
		t.Fatalf("%s, %v", printed, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if _, err := r.command("sessions", "export", id, "-o", file); exitCode(err) != exitUsage {
		t.Errorf("over a file that is there: %v", err)
	}
	for i, want := range []string{id + "  2 events", id + "  is here already"} {
		if printed, err := other.command("sessions", "import", file); err != nil || !strings.Contains(printed, want) {
			t.Errorf("time %d: %q, %v", i+1, printed, err)
		}
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bad := r.place("bad.ndjson")
	if err := os.WriteFile(bad, append(content[:len(content)-20], "x\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := other.command("sessions", "import", bad); exitCode(err) != exitUsage || !strings.Contains(err.Error(), "the session file") {
		t.Errorf("a damaged file: %v", err)
	}
	for name, want := range map[string]string{"s.html": "&lt;b&gt;a note", "s.md": "&lt;b>a note", "s.json": `\u003cb\u003ea note`} {
		if printed, err := r.command("sessions", "share", id, "-o", r.place(name)); err != nil {
			t.Fatalf("%s, %v", printed, err)
		}
		if text, err := os.ReadFile(r.place(name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has %s, %v", name, text, err)
		}
	}
	if _, err := r.command("sessions", "share", id, "--format", "pdf"); exitCode(err) != exitUsage {
		t.Errorf("another format: %v", err)
	}
	if left, err := filepath.Glob(r.place(".plinth-*")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestTheStoreIsBackedUpRestoredAndChecked(t *testing.T) {
	r := newRig(t)
	id := r.session()
	for name, want := range map[string]string{"running": "", "stopped": ""} {
		if name == "stopped" {
			r.stop()
		}
		if printed, err := r.command("backup", r.place(name)); err != nil || !strings.Contains(printed, r.place(name)+want) {
			t.Fatalf("%s: %q, %v", name, printed, err)
		}
		if name == "stopped" {
			r.start()
		}
	}
	if _, err := r.command("backup", r.place("running")); err == nil || !strings.Contains(err.Error(), "has files already") {
		t.Errorf("a second time: %v", err)
	}
	if _, err := r.command("doctor"); err == nil || !strings.Contains(err.Error(), "is held by process") {
		t.Errorf("the doctor with a host: %v", err)
	}
	if _, err := r.command("restore", r.place("running")); err == nil || !strings.Contains(err.Error(), "is held by process") {
		t.Errorf("into the folder of a host: %v", err)
	}
	to := r.place("restored")
	if printed, err := r.command("--data", to, "restore", r.place("running")); err != nil || !strings.HasPrefix(printed, to) {
		t.Fatalf("restored: %q, %v", printed, err)
	}
	printed, err := r.command("--data", to, "doctor", "--deep", "--clean", "--json")
	var found checkup
	if decodeErr := json.Unmarshal([]byte(printed), &found); err != nil || decodeErr != nil || !found.Healthy || found.Audited != 1 || found.Swept == nil {
		t.Errorf("the doctor says %s, %v, %v", printed, err, decodeErr)
	}

	db := sqlite.OpenDatabase(filepath.Join(to, "plinth.db"))
	if _, err := db.Exec(`UPDATE session SET title = 'x'`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if printed, err := r.command("--data", to, "doctor"); exitCode(err) != exitFailed || !strings.Contains(printed, "DIFFERS   "+id+" session: the log gives another title") {
		t.Errorf("a row that was changed: %s, %v", printed, err)
	}

	path := filepath.Join(to, "plinth.db")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 2048; i < len(content); i += 1024 { // the heads of pages
		content[i] ^= 0xff
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if printed, err := r.command("--data", to, "doctor"); exitCode(err) != exitFailed || !strings.Contains(printed, "DAMAGED   database") {
		t.Errorf("bytes that were flipped: %s, %v", printed, err)
	}
}

func TestTheDoctorFindsBlobs(t *testing.T) {
	r := newRig(t)
	id := r.session()
	for _, text := range []string{strings.Repeat("a", 40<<10), strings.Repeat("b", 40<<10)} {
		if _, err := r.backend.sessions.Synthetic(r.within(), session.System(), session.SyntheticRequest{Session: id, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	r.stop()
	files, err := filepath.Glob(filepath.Join(r.data, "blobs", "??", "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	digest := func(path string) string { return filepath.Base(filepath.Dir(path)) + filepath.Base(path) }
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[1], []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	printed, err := r.command("doctor", "--deep", "--sample", "0")
	if exitCode(err) != exitFailed || !strings.Contains(printed, digest(files[0])+", the data of an event") || !strings.Contains(printed, "DAMAGED   blob") || !strings.Contains(printed, digest(files[1])) {
		t.Errorf("%s, %v", printed, err)
	}
	if printed, err = r.command("doctor"); exitCode(err) != exitFailed || !strings.Contains(printed, "its events cannot be read") {
		t.Errorf("%s, %v", printed, err)
	}
	r.start()
}

func TestSessionsOfTheOlderSubsystem(t *testing.T) {
	r := newRig(t)
	storage := r.place("storage")
	if err := os.CopyFS(storage, os.DirFS(filepath.Join("..", "..", "host", "legacy", "testdata", "storage"))); err != nil {
		t.Fatal(err)
	}
	if printed, err := r.command("import", "v1", storage, "--dry-run"); err != nil || strings.Count(printed, "messages") != 3 {
		t.Errorf("dry: %s, %v", printed, err)
	}
	if listed, err := r.command("sessions"); err != nil || strings.Contains(listed, "basket") {
		t.Errorf("a dry run took %s, %v", listed, err)
	}
	if err := os.WriteFile(filepath.Join(storage, "session", "global", "ses_66e2b0000ffeaaaaaaaaaaaaaa.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	printed, err := r.command("import", "v1", storage)
	if exitCode(err) != exitFailed || !strings.Contains(err.Error(), "1 of 3 sessions were skipped") || !strings.Contains(printed, "8 messages  Fix the basket <total>") ||
		!strings.Contains(printed, "ses_66e2b0000ffeaaaaaaaaaaaaaa  skipped: session/global/ses_66e2b0000ffeaaaaaaaaaaaaaa.json: it is no JSON") {
		t.Errorf("%s, %v", printed, err)
	}
	if printed, err := r.command("import", "v1", storage, "--project", "4b0ea68d7af9a6031a7ffda7ad66e0cb83315750"); err != nil || strings.Count(printed, "is here already") != 2 {
		t.Errorf("again: %s, %v", printed, err)
	}
	if _, err := r.command("import", "v1", storage, "--session", "ses_none"); err == nil || !strings.Contains(err.Error(), "no such session") {
		t.Errorf("of no session: %v", err)
	}
	if _, err := r.command("import", "v1", r.place("nowhere")); exitCode(err) != exitUsage {
		t.Errorf("of no folder: %v", err)
	}
}

func TestOldBlobsAreSwept(t *testing.T) {
	r := newRig(t)
	digest, err := r.store.Blobs().Put(r.within(), []byte("uploaded and never sent"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.data, "blobs", digest[:2], digest[2:])
	then := time.Now().Add(-2 * sqlite.SweepGrace)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
	r.sweep(r.within())
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the blob is there: %v", err)
	}
}
