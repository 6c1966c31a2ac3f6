package wasm_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

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

// What is packed behind a module's code is not compiled: the same code with another
// manifest takes what there is, and says of itself what it is. Other code never does.
func TestAnotherManifestCompilesNothing(t *testing.T) {
	c := children{kind: compiles}
	engine := newEngine(t, c.options(cacheFolder(t)))
	packed := func(change func(*Module), custom ...string) []byte {
		m := Guest()
		change(m)
		file := m.Bytes()
		for _, name := range custom {
			file = append(file, Section(0, append([]byte{byte(len(name))}, name+" and what it holds"...))...)
		}
		return file
	}
	same := func(*Module) {}
	other := func(m *Module) { m.Entry("more", Const64(0)) }
	names := func(m *Module) { m.Custom("plinth.manifest", nil) } // before the names of functions
	digests := make(map[string]bool)
	for _, load := range []struct {
		name     string
		wasm     []byte
		prepared bool
		children int32
	}{
		{"the first", packed(same, "plinth.manifest"), true, 1},
		{"more behind it", packed(same, "plinth.manifest", "plinth.files"), false, 1},
		{"nothing behind it", packed(same), false, 1},
		{"other code", packed(other, "plinth.manifest"), true, 2},
		{"names behind it", packed(names), true, 3},
	} {
		spec := named(load.name, guestSpec())
		spec.Wasm = load.wasm
		module := loadIn(t, engine, spec)
		if got := mustCall(t, module, wasm.Request{Entry: "echo", Input: []byte("x")}); got != "x" {
			t.Errorf("%s: got %q", load.name, got)
		}
		if report := module.Report(); report.Prepared != load.prepared || c.started.Load() != load.children {
			t.Errorf("%s: prepared %v, %d children; want %v, %d", load.name, report.Prepared, c.started.Load(), load.prepared, load.children)
		}
		info, err := wasm.Inspect(load.wasm)
		if diff := cmp.Diff(info, module.Info()); diff != "" || err != nil {
			t.Errorf("%s: %v %s", load.name, err, diff)
		}
		digests[module.Info().Digest] = true
	}
	if len(digests) != 5 {
		t.Errorf("5 files have the digests %v", digests)
	}
}

// A file whose code is in the cache is read as strictly as any other.
func TestWhatStandsBehindCachedCodeIsRead(t *testing.T) {
	dir := cacheFolder(t)
	with, without := options(), options()
	with.CacheDir = dir
	cached, fresh := newEngine(t, with), newEngine(t, without)
	spec := named("guest", guestSpec())
	spec.Wasm = Guest().Bytes()
	loadIn(t, cached, spec)
	many := bytes.Repeat(Section(0, append([]byte{1}, 'a')), 1_000)
	for name, behind := range map[string][]byte{
		"cut":                 {0, 5, 1, 'a'},
		"a name that is none": Section(0, []byte{1, 0xff}),
		"no name":             Section(0, nil),
		"a length too long":   {0, 0x82, 0x80, 0x80, 0x80, 0x80, 0, 1, 'a'},
		"too many":            many,
		"another section":     Section(5, []byte{0}),
		"an unknown section":  Section(77, nil),
	} {
		spec.Wasm = slices.Concat(Guest().Bytes(), behind)
		_, want := fresh.Load(t.Context(), spec)
		_, got := cached.Load(t.Context(), spec)
		if want == nil || got == nil || got.Error() != want.Error() {
			t.Errorf("%s: %v with a cache, %v without", name, got, want)
		}
	}
	spec.Wasm = slices.Concat(Guest().Bytes(), many[:999*4])
	if module := loadIn(t, cached, spec); module.Report().Prepared { // with that of the names they are 1,000
		t.Error("as many sections as there may be were not taken from the cache")
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
