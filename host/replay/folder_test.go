package replay_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/wasm"
)

// sample is a recording that can be written.
func sample() *replay.Recording {
	return &replay.Recording{
		Header: replay.Header{
			Format: replay.Format, Host: "1.2.3", Plugin: "acme/test", Revision: "r1", Meter: 1, Isolated: wasm.Restore,
			Module: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
			Time:   time.Date(2026, 11, 20, 9, 30, 0, 1, time.UTC), Call: "call_1", Entry: "plinth_tool_execute", Deadline: time.Second,
			Limits: replay.Limits{MemoryMiB: 32, StackKiB: 1024, InputBytes: 1, OutputBytes: 1, LogBytes: 1, Operations: 1, OperationBytes: 1},
			Start:  []replay.Step{}, Input: replay.Data("input"),
		},
		End: replay.End{Output: replay.Data("output"), Fuel: 7, Memory: 65536},
	}
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{}
	for _, file := range files {
		all = append(all, file.Name())
	}
	return all
}

// A folder holds a number of recordings, the newest, in files that are the user's own.
func TestFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recordings")
	folder, err := replay.OpenFolder(path, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, plugin := range []string{"acme/a", "acme/b", "acme/b", "acme/c"} {
		recording := sample()
		recording.Plugin, recording.End.Failed = plugin, i < 3
		recording.Time = recording.Time.Add(time.Duration(i/2) * time.Minute) // pairs at one time
		if i == 2 {
			recording.Call = "../../evil call"
		}
		if err := folder.Keep(recording); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"20261120T093000-000000001Z.acme~b.plinth_tool_execute.call_1.failed.jsonl",
		"20261120T093100-000000001Z.acme~b.plinth_tool_execute.~~~~~~evil~call.failed.jsonl",
		"20261120T093100-000000001Z.acme~c.plinth_tool_execute.call_1.ok.jsonl",
	}
	if diff := cmp.Diff(want, names(t, path)); diff != "" {
		t.Error(diff)
	}
	for _, name := range append(names(t, path), ".") {
		info, err := os.Stat(filepath.Join(path, name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
		}
	}
	last, err := folder.LastFailing("acme/b")
	if err != nil || filepath.Base(last.Path) != want[1] || !last.Failed || last.Plugin != "acme~b" || !last.Time.Equal(sample().Time.Add(time.Minute)) {
		t.Errorf("last failing %+v, %v", last, err)
	}
	if any, err := folder.LastFailing(""); err != nil || any != last {
		t.Errorf("last failing of all %+v, %v", any, err)
	}
	for _, plugin := range []string{"acme/a", "acme/c"} {
		if entry, err := folder.LastFailing(plugin); !errors.Is(err, replay.ErrNone) {
			t.Errorf("%s: %+v, %v", plugin, entry, err)
		}
	}
	recording, err := replay.Read(last.Path)
	if err != nil || recording.Call != "../../evil call" {
		t.Errorf("read %+v, %v", recording, err)
	}
}

// Recordings of the same call at the same time do not take each other's place.
func TestFolderKeepsTwins(t *testing.T) {
	path := t.TempDir()
	folder, err := replay.OpenFolder(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	for range 10 {
		work.Go(func() {
			if err := folder.Keep(sample()); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	if entries, err := folder.List(); err != nil || len(entries) != 10 {
		t.Errorf("%d recordings, %v", len(entries), err)
	}
}

// What a host left half-written goes, what is not a recording stays, and a smaller
// number holds from the opening on.
func TestFolderIsOpenedAgain(t *testing.T) {
	path := t.TempDir()
	folder, err := replay.OpenFolder(path, 5)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		recording := sample()
		recording.Time = recording.Time.Add(time.Duration(i) * time.Second)
		if err := folder.Keep(recording); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".recording-123", "notes.txt", "a.b.c.d.ok.jsonl"} {
		if err := os.WriteFile(filepath.Join(path, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := replay.OpenFolder(path, 1); err != nil {
		t.Fatal(err)
	}
	want := []string{"20261120T093004-000000001Z.acme~test.plinth_tool_execute.call_1.ok.jsonl", "a.b.c.d.ok.jsonl", "notes.txt"}
	if diff := cmp.Diff(want, names(t, path)); diff != "" {
		t.Error(diff)
	}
	blocked := filepath.Join(path, "notes.txt", "below")
	if _, err := replay.OpenFolder(blocked, 1); err == nil {
		t.Error("a folder below a file was opened")
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := folder.Keep(sample()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("kept without a folder: %v", err)
	}
}
