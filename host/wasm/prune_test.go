package wasm_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// What is refused leaves nothing, and data is kept as the module has it, not as the
// memory will.
func TestCacheHoldsNoMoreThanNeeded(t *testing.T) {
	options := options()
	options.CacheDir = cacheFolder(t)
	engine := newEngine(t, options)
	for _, guest := range []*Module{importing("env", "system", nil, nil), new(Module).Core()} {
		if _, err := engine.Load(t.Context(), wasm.Spec{Name: "refused", Wasm: guest.Bytes(), Entries: []string{"run"}}); err == nil {
			t.Error("it is admitted")
		}
	}
	if files := cached(t, options.CacheDir); len(files) != 0 {
		t.Errorf("refused modules left %q", files)
	}
	guest := Guest()
	guest.Memory(500, 0)
	guest.Data(1<<24, "far")
	guest.Data(10, "near")
	guest.Data(11, "EA")
	guest.Custom(".debug_info", make([]byte, 1<<20))
	guest.Entry("data", Answer(Const(10), Const(4)))
	guest.Entry("far", Answer(Const(1<<24), Const(3)))
	spec := wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"data", "far"}}
	for range 2 {
		module := loadIn(t, engine, spec)
		for entry, want := range map[string]string{"data": "nEAr", "far": "far"} {
			if got := mustCall(t, module, wasm.Request{Entry: entry}); got != want {
				t.Errorf("%s: %q, want %q", entry, got, want)
			}
		}
	}
	total := int64(0)
	for _, file := range cached(t, options.CacheDir) {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 64<<10 {
		t.Errorf("%d bytes are kept of a small module", total)
	}
}

// entryIn answers the folder of the only module in a cache.
func entryIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	return filepath.Join(dir, entries[0].Name())
}

func TestUnusedEntriesArePruned(t *testing.T) {
	dir := cacheFolder(t)
	var log lines
	loadCached(t, dir, &log)
	entry := entryIn(t, dir)
	age := func(path string, days int) {
		t.Helper()
		then := time.Now().Add(-time.Duration(days) * 24 * time.Hour)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	folder := func(name string, days int) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Join(path, "code"), 0o700); err != nil {
			t.Fatal(err)
		}
		age(path, days)
		return path
	}
	digest := strings.Repeat("0123456789abcdef", 4)
	old := []string{folder(digest+"-2.1", 31), folder(digest+"-1.1", 300), folder("compiling-123", 31)}
	kept := []string{entry, folder(digest+"-3.1", 29), folder("compiling-124", 1), folder("somebody's own", 300)}
	age(entry, 29)
	loadCached(t, dir, &log)
	for _, path := range old {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is kept: %v", filepath.Base(path), err)
		}
	}
	for _, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s is gone: %v", filepath.Base(path), err)
		}
	}
	if info, err := os.Stat(entry); err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Errorf("its use is not noted: %s, %v", info.ModTime(), err)
	}
	if len(log.text) != 0 {
		t.Errorf("log %q", log.text)
	}
}

func TestLongestUnusedEntriesMakeRoom(t *testing.T) {
	dir := t.TempDir()
	for n := range 5 { // entry n was used n hours ago and has 1000 bytes
		path := filepath.Join(dir, strings.Repeat(fmt.Sprint(n), 64)+"-2.1")
		if err := os.MkdirAll(filepath.Join(path, "code"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "code", "file"), make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-time.Duration(n) * time.Hour)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		since time.Duration
		most  int64
		left  string
	}{{24, 5000, "01234"}, {24, 3999, "012"}, {2, 5000, "01"}, {24, 0, ""}} {
		if err := wasm.Prune(dir, time.Now().Add(-step.since*time.Hour), step.most); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		left := ""
		for _, entry := range entries {
			left += entry.Name()[:1]
		}
		if left != step.left {
			t.Errorf("%d bytes: %q are left, want %q", step.most, left, step.left)
		}
	}
}
