package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/host/server/servertest"
	"github.com/plinthhost/plinth/session"
)

// The three lists of types are one: what is taken, what is sent and what is admitted.
func TestFileTypesAreOne(t *testing.T) {
	if diff := cmp.Diff(session.PromptFileTypes(), protocol.BlobTypes()); diff != "" {
		t.Error(diff)
	}
	if session.MaxPromptFileBytes != protocol.MaxBlob {
		t.Errorf("%d bytes are admitted, %d are taken", session.MaxPromptFileBytes, protocol.MaxBlob)
	}
}

// scripted is a server whose backend does what a test says.
func scripted(t *testing.T) (memory *servertest.Memory, address string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "plinth") // short: a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	memory, socket := servertest.New(), filepath.Join(folder, "s", "cli.sock")
	s, err := server.New(server.Options{Socket: socket, Version: "test"}, memory.Backend())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return memory, "unix:" + socket
}

// execute runs the program and answers its exit code and what it wrote.
func execute(ctx context.Context, address string, args ...string) (code int, out, notes string) {
	var written, said bytes.Buffer
	c := &cli{in: strings.NewReader(""), out: &written, errors: &said, patience: patience, environ: []string{"PLINTH_SERVER=" + address}}
	code = c.execute(ctx, args)
	return code, written.String(), said.String()
}

func TestRunAttachesFiles(t *testing.T) {
	memory, address := scripted(t)
	id := memory.Session()
	folder := t.TempDir()
	contents := map[string]string{"shot.png": "\x89PNG\r\n\x1a\nrest", "notes.go": "package notes\n"}
	for name, content := range contents {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	admitted := memory.Backend().Events.Watch(id)
	defer admitted.Close()
	type result struct {
		code       int
		out, notes string
	}
	done := make(chan result, 1)
	go func() {
		code, out, notes := execute(t.Context(), address, "run", "--session", id, "--file", filepath.Join(folder, "shot.png"),
			"--file", filepath.Join(folder, "notes.go"), "what is this?")
		done <- result{code, out, notes}
	}()
	select {
	case <-admitted.C():
	case r := <-done:
		t.Fatalf("%+v", r)
	}
	inbox, err := memory.Backend().Prompts.Inbox(t.Context(), id)
	if err != nil || len(inbox.Pending) != 1 {
		t.Fatalf("%+v, %v", inbox, err)
	}
	prompt := inbox.Pending[0]
	memory.Append(id, session.PromptPromoted{}.EventType(), session.PromptPromoted{Message: prompt.ID})
	memory.Append(id, session.ActivityEnded{}.EventType(), session.ActivityEnded{Outcome: session.Completed})
	if r := <-done; r.code != exitOK {
		t.Errorf("%+v", r)
	}
	var names []string
	for _, file := range prompt.Prompt.Files {
		names = append(names, file.Name+" "+file.Mime)
		if got := string(memory.Blob(file.Blob)); got != contents[file.Name] {
			t.Errorf("%s has %q", file.Name, got)
		}
	}
	if diff := cmp.Diff([]string{"shot.png image/png", "notes.go text/plain"}, names); diff != "" {
		t.Error(diff)
	}
}

// A file that cannot be attached is a mistake of usage, before anything is sent.
func TestRunRefusesFiles(t *testing.T) {
	memory, address := scripted(t)
	folder := t.TempDir()
	for name, content := range map[string]string{"empty": "", "program": "\x7fELF\x00", "large": strings.Repeat("x", protocol.MaxBlob+1), "good": "text"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"missing": "no such file", "empty": "it is empty", "program": "it is none of image/png, ", "large": "more than 20971520 bytes", "pipe": "not a regular file", "": "not a regular file",
	} {
		path := filepath.Join(folder, name)
		code, _, notes := execute(t.Context(), address, "run", "--file", filepath.Join(folder, "good"), "--file", path, "hello")
		if code != exitUsage || !strings.Contains(notes, fmt.Sprintf("--file %s: ", path)) || !strings.Contains(notes, want) {
			t.Errorf("%s: exit %d, %s", name, code, notes)
		}
	}
	list, err := memory.Backend().Sessions.List(t.Context(), protocol.ListSessions{Limit: 1})
	if err != nil || len(list.Sessions) != 0 {
		t.Errorf("sessions were made: %+v, %v", list, err)
	}
}

// What a whole host keeps of an upload, and what its rules make of kept outputs.
func TestUploadIsKept(t *testing.T) {
	r := newRig(t)
	digest, err := blobService{r.store.Blobs()}.Put(t.Context(), []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	files := []session.PromptFile{{Blob: digest, Mime: protocol.MimeText, Name: "a.txt"}}
	if err := session.CheckFiles(t.Context(), r.store.Blobs(), files); err != nil {
		t.Error(err)
	}
}

// A kept output is read by the path that was told, and nobody is asked.
func TestKeptOutputIsRead(t *testing.T) {
	r := newRig(t)
	path, err := r.outputs.Keep(t.Context(), "ses_1", "the first line\nthe second\n")
	if err != nil {
		t.Fatal(err)
	}
	id := r.session()
	if result := r.settled(id, "read "+path); result.Outcome != protocol.OutcomeCompleted || !strings.Contains(result.Text, "the first line") {
		t.Errorf("%+v", result)
	}
	if asked := r.count(id, is[session.PermissionAsked]); asked != 0 {
		t.Errorf("asked %d times", asked)
	}
	effects, err := r.permissions.Effects(t.Context(), session.Asker{Session: id, Agent: "build"}, "", "external_directory",
		[]string{filepath.Join(r.data, "tool-output", "*"), filepath.Join(r.data, "*"), filepath.Join(r.data, "tool-output-not", "*")})
	if err != nil || !slices.Equal(effects, []session.Effect{session.Allow, session.Ask, session.Ask}) {
		t.Errorf("%v, %v", effects, err)
	}
}

func TestKeptOutputsOfAPatternAreAsked(t *testing.T) {
	if rules := outputRules("/data/*"); rules != nil {
		t.Errorf("%+v", rules)
	}
}

// Old outputs go when a host starts, for as long as the configuration says.
func TestOldOutputsAreRemoved(t *testing.T) {
	r := newRig(t)
	path, err := r.outputs.Keep(t.Context(), "ses_1", "text")
	if err != nil {
		t.Fatal(err)
	}
	if r.config.ToolOutput.KeepDays != 7 {
		t.Errorf("%+v", r.config.ToolOutput)
	}
	r.configure("[tool_output]\nkeep_days = 1\n")
	old := session.SystemClock{}.Now().AddDate(0, 0, -2)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	r.restart()
	for end := time.Now().Add(patience); ; runtime.Gosched() {
		if _, err := os.Stat(path); os.IsNotExist(err) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it stays")
		}
	}
}
