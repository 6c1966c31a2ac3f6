package wasm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// What is compiled once is not compiled again: no child, no parser, no meter.
func TestSecondStartCompilesNothing(t *testing.T) {
	c := children{kind: compiles}
	dir := cacheFolder(t)
	spec := named("guest", guestSpec())
	spec.Wasm = func() []byte { m := Guest(); m.Custom("about", []byte("a test")); return m.Bytes() }()
	var before []string
	for start := range 3 {
		engine, err := wasm.New(c.options(dir))
		if err != nil {
			t.Fatal(err)
		}
		spec.Lazy = start == 2
		module := loadIn(t, engine, spec)
		mustCall(t, module, wasm.Request{Entry: "echo"})
		if report := module.Report(); report.Prepared != (start == 0) {
			t.Errorf("start %d: prepared %v", start, report.Prepared)
		}
		info, err := wasm.Inspect(spec.Wasm)
		if diff := cmp.Diff(info, module.Info()); diff != "" || err != nil {
			t.Errorf("start %d: %v %s", start, err, diff)
		}
		if err := engine.Close(); err != nil {
			t.Fatal(err)
		}
		if after := cached(t, dir); start > 0 && !slices.Equal(before, after) {
			t.Errorf("start %d: %q, before %q", start, after, before)
		} else {
			before = after
		}
	}
	if got := c.started.Load(); got != 1 {
		t.Errorf("%d children for three starts", got)
	}
}

// Machine code of another version of the compiler is as good as none, and is
// replaced. This process must not fill in for the child.
func TestCodeOfAnotherCompilerIsIgnored(t *testing.T) {
	c := children{kind: compiles}
	dir := cacheFolder(t)
	start := func() {
		engine, err := wasm.New(c.options(dir))
		if err != nil {
			t.Fatal(err)
		}
		mustCall(t, loadIn(t, engine, guestSpec()), wasm.Request{Entry: "echo"})
		if err := engine.Close(); err != nil {
			t.Fatal(err)
		}
	}
	start()
	compiler := filepath.Dir(machineCode(t, dir)[0])
	other := filepath.Join(filepath.Dir(compiler), "wazero-v0.0.1-amd64-linux")
	if err := os.Rename(compiler, other); err != nil {
		t.Fatal(err)
	}
	reseal(t, filepath.Dir(compiler))
	start()
	if got := c.started.Load(); got != 2 {
		t.Errorf("%d children, want one more", got)
	}
	if files := machineCode(t, dir); len(files) != 1 || filepath.Dir(files[0]) != compiler {
		t.Errorf("files %q", files)
	}
	start()
	if got := c.started.Load(); got != 2 {
		t.Errorf("%d children: what the second made is not used", got)
	}
}

// reseal makes what is in a folder of machine code count as whole.
func reseal(t *testing.T, code string) {
	t.Helper()
	moved := filepath.Join(t.TempDir(), "code")
	if err := os.Rename(code, moved); err != nil {
		t.Fatal(err)
	}
	if err := wasm.Seal(moved, code); err != nil {
		t.Fatal(err)
	}
}

func TestTwoEnginesShareACache(t *testing.T) {
	c := children{kind: compiles}
	dir := cacheFolder(t)
	var group sync.WaitGroup
	for n := range 4 {
		engine := newEngine(t, c.options(dir))
		group.Go(func() {
			spec := named(fmt.Sprint(n), guestSpec())
			spec.Builtin = n == 0 // compiled here
			module, err := engine.Load(t.Context(), spec)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := call(t, module, wasm.Request{Entry: "echo"}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if files := machineCode(t, dir); len(files) != 1 || len(cached(t, dir)) != 5 {
		t.Errorf("files %q", cached(t, dir))
	}
	started := c.started.Load()
	mustCall(t, loadIn(t, newEngine(t, c.options(dir)), guestSpec()), wasm.Request{Entry: "echo"})
	if got := c.started.Load(); got != started {
		t.Error("what they made is not used")
	}
}

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
