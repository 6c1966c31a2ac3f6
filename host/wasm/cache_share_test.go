package wasm_test

import (
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
