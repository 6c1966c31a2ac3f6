package wasm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// childVariable makes this test binary a child that compiles, or one that fails to.
const childVariable = "PLINTH_TEST_CHILD"

// Kinds of children.
const (
	compiles = "compiles"
	dies     = "dies"     // by a signal
	talks    = "talks"    // without end, and refuses
	pretends = "pretends" // to have compiled
	hangs    = "hangs"    // until it is killed
	breaks   = "breaks"   // with a code of its own
	crashes  = "crashes"  // in a goroutine, as a worker of the compiler does
)

// beChild answers the exit code.
func beChild(kind string) int {
	switch kind {
	case compiles:
		return wasm.Compile(os.Stdin, os.Stdout)
	case dies:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case talks:
		for range 1000 {
			fmt.Print(strings.Repeat("it is all wrong \x1b[31m", 100))
		}
		return 65
	case hangs:
		fmt.Fprintln(os.Stderr, "begun")
		time.Sleep(time.Hour)
	case crashes:
		go panic("no such register")
		select {}
	case breaks:
		fmt.Print("no such job")
		return 70
	}
	return 0
}

// children starts them and counts.
type children struct {
	kind    string
	started atomic.Int32
	last    atomic.Pointer[exec.Cmd]
}

func (c *children) command(ctx context.Context) *exec.Cmd {
	c.started.Add(1)
	child := exec.CommandContext(ctx, os.Args[0])
	// Under the race detector a process would sleep for a second before it ends.
	child.Env = append(os.Environ(), childVariable+"="+c.kind, "GORACE=atexit_sleep_ms=0")
	c.last.Store(child)
	return child
}

// options are of an engine that compiles in such children.
func (c *children) options(dir string) wasm.Options {
	options := options()
	options.CacheDir, options.Compiler = dir, c.command
	return options
}

func cacheFolder(t testing.TB) string { return filepath.Join(t.TempDir(), "cache") }

func named(name string, spec wasm.Spec) wasm.Spec {
	spec.Name = name
	return spec
}

// heavy is a module of some 400 KB that takes the compiler a while and some memory.
func heavy() wasm.Spec {
	guest := new(Module).Core()
	guest.Entry("run", Const64(0))
	guest.Func("", Types(I32, I32), nil, Types(I32),
		Code(strings.Repeat(Get(0)+Get(1)+Add+Set(2)+Get(2)+Load8+Set(0), 25_000)))
	return wasm.Spec{Name: "heavy", Wasm: guest.Bytes(), Entries: []string{"run"}}
}

// checkCompileLimit loads the heavy module under limits that it keeps to, and under
// some it does not.
// On a busy machine the time that passes can be up before the processor's is: the
// knob tells, not the words.
func checkCompileLimit(t *testing.T, loose, tight wasm.CompileLimits, knob string) {
	t.Helper()
	for _, limits := range []wasm.CompileLimits{loose, tight} {
		var c children
		c.kind = compiles
		options := c.options(cacheFolder(t))
		options.CompileLimits = limits
		_, err := newEngine(t, options).Load(t.Context(), heavy())
		if limits == loose {
			if err != nil {
				t.Errorf("where there is room: %v", err)
			}
			continue
		}
		refusal, _ := errors.AsType[*wasm.AdmissionError](err)
		limit, _ := errors.AsType[*wasm.LimitError](err)
		if refusal == nil || limit == nil || refusal.Stage != wasm.StageCompile || refusal.Module != "heavy" || limit.Knob != knob {
			t.Errorf("got %v", err)
		}
		if left := machineCode(t, options.CacheDir); len(left) != 0 {
			t.Errorf("it left %q", left)
		}
	}
}

func testCompilerMemory(t *testing.T) {
	loose := wasm.CompileLimits{Base: time.Minute}
	tight := loose
	tight.MemoryMiB = 20
	checkCompileLimit(t, loose, tight, "CompileLimits.MemoryMiB")
}

// overtime is the knob of a child that took too much time.
const overtime = "CompileLimits.Base and PerMiB"

func testCompilerBase(t *testing.T) {
	checkCompileLimit(t, wasm.CompileLimits{Base: time.Minute, PerMiB: time.Millisecond},
		wasm.CompileLimits{Base: 100 * time.Millisecond, PerMiB: time.Millisecond}, overtime)
}

func testCompilerPerMiB(t *testing.T) {
	checkCompileLimit(t, wasm.CompileLimits{Base: 100 * time.Millisecond, PerMiB: 10 * time.Minute},
		wasm.CompileLimits{Base: 100 * time.Millisecond, PerMiB: time.Millisecond}, overtime)
}

// A child that does nothing uses no processor, so its time is bounded as well.
func TestChildThatHangs(t *testing.T) {
	c := children{kind: hangs}
	options := c.options(cacheFolder(t))
	options.CompileLimits = wasm.CompileLimits{Base: 10 * time.Millisecond, PerMiB: time.Millisecond}
	_, err := newEngine(t, options).Load(t.Context(), named("guest", guestSpec()))
	limit, _ := errors.AsType[*wasm.LimitError](err)
	if limit == nil || limit.What != "milliseconds to compile it" || limit.Limit != 80 || limit.Knob != overtime {
		t.Errorf("got %v", err)
	}
}

// A child ends itself when it takes more than its job allows, and tells by its exit
// code what that was. No busy machine makes a difference here.
func TestChildWatchesItself(t *testing.T) {
	files := t.TempDir()
	write := func(name string, module []byte) string {
		t.Helper()
		path := filepath.Join(files, name)
		if err := os.WriteFile(path, module, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	long := write("heavy", heavy().Wasm)
	tests := []struct {
		module      string
		mib         int
		processor   time.Duration
		code, wrote int
	}{
		{long, 4096, time.Hour, 0, 1},
		{long, 4096, 50 * time.Millisecond, 67, 0},
		{long, 16, time.Hour, 66, 0},
		{write("text", []byte("this is no module")), 4096, time.Hour, 65, 0},
		{filepath.Join(files, "nothing"), 4096, time.Hour, 70, 0},
	}
	for _, test := range tests {
		c := children{kind: compiles}
		child := c.command(t.Context())
		folder := t.TempDir()
		child.Stdin = strings.NewReader(fmt.Sprintf(`{"module":%q,"folder":%q,"memory_pages":512,"memory_mib":%d,"processor":%d}`,
			test.module, folder, test.mib, test.processor))
		said, err := child.Output()
		if code := child.ProcessState.ExitCode(); code != test.code || (code == 65 || code == 70) != (len(said) > 0) {
			t.Errorf("%s with %d MiB and %s: exit %d, want %d: %q, %v", filepath.Base(test.module), test.mib, test.processor, code, test.code, said, err)
		}
		if files := machineCode(t, folder); len(files) != test.wrote {
			t.Errorf("%s: it wrote %q", filepath.Base(test.module), files)
		}
	}
}

// However a child fails, the module is refused with a reason of bounded length, and
// this process compiles nothing.
func TestChildrenThatFail(t *testing.T) {
	tests := []struct{ kind, text string }{
		{dies, "the compiler's process ended: signal: killed"},
		{talks, "it is all wrong \uFFFD[31mit is"},
		{pretends, "there is no machine code for this version of the compiler and this processor"},
		{breaks, "the compiler's process ended: exit status 70: no such job"},
		{crashes, "the compiler failed: panic: no such register"},
		{"absent", "start the compiler's process: "},
	}
	for _, test := range tests {
		t.Run(test.kind, func(t *testing.T) {
			c := children{kind: test.kind}
			options := c.options(cacheFolder(t))
			if test.kind == "absent" {
				options.Compiler = func(ctx context.Context) *exec.Cmd {
					return exec.CommandContext(ctx, filepath.Join(t.TempDir(), "nothing"))
				}
			}
			engine := newEngine(t, options)
			for _, lazy := range []bool{false, true} {
				spec := named("guest", guestSpec())
				spec.Lazy = lazy
				_, err := engine.Load(t.Context(), spec)
				refusal, _ := errors.AsType[*wasm.AdmissionError](err)
				if refusal == nil || refusal.Stage != wasm.StageCompile || !strings.Contains(err.Error(), test.text) || len(err.Error()) > 1000 {
					t.Errorf("lazy %v: got %v", lazy, err)
				}
				if left := machineCode(t, options.CacheDir); len(left) != 0 {
					t.Errorf("it left %q", left)
				}
			}
			builtin := named("builtin", guestSpec()) // does not need them
			builtin.Builtin = true
			mustCall(t, loadIn(t, engine, builtin), wasm.Request{Entry: "echo"})
		})
	}
}

// A module the compiler refuses is refused by the child in the compiler's words.
func TestChildRefuses(t *testing.T) {
	c := children{kind: compiles}
	guest := new(Module).Core()
	guest.Entry("run", Add)
	_, err := newEngine(t, c.options(cacheFolder(t))).Load(t.Context(), wasm.Spec{Name: "guest", Wasm: guest.Bytes(), Entries: []string{"run"}})
	if err == nil || !strings.Contains(err.Error(), "compile: the compiler refused it: ") || !strings.Contains(err.Error(), "invalid function[") {
		t.Errorf("got %v", err)
	}
}

// Whoever gives a load up does not wait for its child, which is killed.
func TestCancelOfALoad(t *testing.T) {
	for _, lazy := range []bool{false, true} {
		c := children{kind: hangs}
		ctx, cancel := context.WithCancelCause(context.Background())
		options := c.options(cacheFolder(t))
		begun := make(chan struct{})
		options.Compiler = func(ctx context.Context) *exec.Cmd {
			child := c.command(ctx)
			child.Stderr = writerFunc(func([]byte) { close(begun) })
			return child
		}
		engine := newEngine(t, options)
		ended := make(chan error, 1)
		go func() {
			spec := named("guest", guestSpec())
			spec.Lazy = lazy
			_, err := engine.Load(ctx, spec)
			ended <- err
		}()
		<-begun
		cancel(errStop)
		select {
		case err := <-ended:
			if !errors.Is(err, wasm.ErrCancelled) || !errors.Is(err, errStop) {
				t.Errorf("got %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("it waits for the child")
		}
		if c.last.Load().Process.Signal(syscall.Signal(0)) == nil {
			t.Error("the child is still there")
		}
	}
}

// A load that was given up leaves the one child at a time to the next.
func TestLoadsTakeTurnsToCompile(t *testing.T) {
	c := children{kind: compiles}
	engine := newEngine(t, c.options(cacheFolder(t)))
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			guest := Guest()
			guest.Custom("number", []byte{byte(n)})
			spec := wasm.Spec{Name: fmt.Sprint(n), Wasm: guest.Bytes(), Entries: guestEntries()}
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*20*time.Millisecond+time.Duration(n/3)*time.Minute)
			defer cancel()
			if _, err := engine.Load(ctx, spec); err != nil && (n == 3 || !errors.Is(err, wasm.ErrDeadline)) {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// A child compiles several functions at a time, and the code is that of one after
// another, which is how builtins are compiled.
func TestChildMakesTheSameCode(t *testing.T) {
	code := func(builtin bool) string {
		c := children{kind: compiles}
		options := c.options(cacheFolder(t))
		spec := named("guest", guestSpec())
		spec.Builtin = builtin
		loadIn(t, newEngine(t, options), spec)
		if started := c.started.Load(); (started == 0) != builtin {
			t.Errorf("builtin %v: %d children", builtin, started)
		}
		files := machineCode(t, options.CacheDir)
		if len(files) != 1 {
			t.Fatalf("it left %q", files)
		}
		data, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if code(true) != code(false) {
		t.Error("the child's code is another")
	}
}
