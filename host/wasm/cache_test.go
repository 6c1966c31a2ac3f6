package wasm_test

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// recorder is a logger that keeps what it is told.
func recorder(l *lines) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: writerFunc(func(p []byte) { l.add(string(p)) }), DisableTime: true})
}

type writerFunc func(p []byte)

var _ io.Writer = writerFunc(nil)

func (w writerFunc) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// machineCode answers the files of compiled code in a cache.
func machineCode(t *testing.T, dir string) []string {
	t.Helper()
	return slices.DeleteFunc(cached(t, dir), func(path string) bool { return !strings.Contains(path, "wazero") })
}

// cached answers the files in a cache.
func cached(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func loadCached(t *testing.T, dir string, log *lines) {
	t.Helper()
	options := options()
	options.CacheDir, options.Logger = dir, recorder(log)
	engine, err := wasm.New(options)
	if err != nil {
		t.Fatal(err)
	}
	module, err := engine.Load(context.Background(), wasm.Spec{Name: "guest", Wasm: Guest().Bytes(), Entries: guestEntries()})
	if err != nil {
		t.Fatal(err)
	}
	if got := mustCall(t, module, wasm.Request{Entry: "echo", Input: []byte("x")}); got != "x" {
		t.Errorf("got %q", got)
	}
	if err := engine.Close(); err != nil {
		t.Error(err)
	}
}

func TestCacheIsPrivateAndUsed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "cache")
	var log lines
	loadCached(t, dir, &log)
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %s, %v", info.Mode(), err)
	}
	files := machineCode(t, dir)
	if all := cached(t, dir); len(files) != 1 || len(all) != 5 { // and metered.wasm, data, prepared.json, sum
		t.Fatalf("files: %q", all)
	}
	before, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	loadCached(t, dir, &log)
	after, err := os.Stat(files[0])
	if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Errorf("the entry was written again: %v", err)
	}
	if len(log.text) != 0 {
		t.Errorf("log: %q", log.text)
	}
}

func TestDamagedCacheIsReplaced(t *testing.T) {
	damages := map[string]func([]byte) []byte{
		"empty":     func([]byte) []byte { return nil },
		"truncated": func(code []byte) []byte { return code[:len(code)/2] },
		"changed":   func(code []byte) []byte { code[len(code)/2] ^= 0xff; return code },
		// Where a function begins, which the compiler does not check.
		"moved": func(code []byte) []byte {
			at := 7 + int(code[6]) + 4 // magic, length and version, number of functions
			for n := range 8 {
				code[at+8*n]++
			}
			return code
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			dir := cacheFolder(t)
			var log lines
			loadCached(t, dir, &log)
			file := machineCode(t, dir)[0]
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, damage(code), 0o600); err != nil {
				t.Fatal(err)
			}
			loadCached(t, dir, &log)
			if len(log.text) != 1 || !strings.Contains(log.text[0], "compiled anew") {
				t.Errorf("log: %q", log.text)
			}
			loadCached(t, dir, &log)
			if len(log.text) != 1 {
				t.Errorf("the damage was not repaired: %q", log.text)
			}
		})
	}
}

func TestCacheThatCannotBeWritten(t *testing.T) {
	dir := cacheFolder(t)
	var log lines
	loadCached(t, dir, &log)
	entry := entryIn(t, dir)
	if err := os.RemoveAll(entry); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(entry, nil, 0o600); err != nil { // where a folder must be
		t.Fatal(err)
	}
	options := options()
	options.CacheDir = dir
	_, err := newEngine(t, options).Load(t.Context(), named("guest", guestSpec()))
	if err == nil || !strings.Contains(err.Error(), "keep the metered module in the compilation cache: mkdir "+entry) {
		t.Errorf("got %v", err)
	}
}

func TestDamagedMeteredModuleIsReplaced(t *testing.T) {
	for _, name := range []string{"metered.wasm", "data", "prepared.json"} {
		dir := filepath.Join(t.TempDir(), "cache")
		var log lines
		loadCached(t, dir, &log)
		files := slices.DeleteFunc(cached(t, dir), func(path string) bool { return filepath.Base(path) != name })
		for _, damage := range []func() error{
			func() error { return os.WriteFile(files[0], []byte("torn"), 0o600) },
			func() error { return os.Remove(files[0]) },
		} {
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			log.text = nil
			loadCached(t, dir, &log)
			if missing := name == "prepared.json" && len(log.text) == 0; !missing && (len(log.text) != 1 || !strings.Contains(log.text[0], "made anew")) {
				t.Errorf("%s: log %q", name, log.text)
			}
			log.text = nil
			if loadCached(t, dir, &log); len(log.text) != 0 {
				t.Errorf("%s: the damage was not repaired: %q", name, log.text)
			}
		}
	}
}

func TestCacheFolderIsRefused(t *testing.T) {
	open := t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	locked := t.TempDir()
	if err := os.Chmod(locked, 0o500); err != nil {
		t.Fatal(err)
	}
	for dir, text := range map[string]string{
		open: "has mode 0755, others could plant code in it; chmod 700 it", file: "make the compilation cache", link: "is not a folder",
		locked: "has mode 0500, the engine must read and write it; chmod 700 it",
	} {
		options := options()
		options.CacheDir = dir
		if _, err := wasm.New(options); err == nil || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
