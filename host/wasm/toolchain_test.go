package wasm_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
)

// goGuest builds testdata/guest with the Go toolchain that runs this test; the
// build cache keeps it for the next run.
func goGuest(t testing.TB) wasm.Spec {
	t.Helper()
	file := filepath.Join(t.TempDir(), "guest.wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-o", file, "./testdata/guest")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the Go guest: %v\n%s", err, out)
	}
	module, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return wasm.Spec{Wasm: module, Entries: []string{"upper", "crash", "say", "nap", "files", "ask", "frames"}}
}

func TestGuestOfTheGoToolchain(t *testing.T) {
	module := load(t, goGuest(t))
	t.Run("keeps its heap", func(t *testing.T) {
		for range 200 {
			if got := mustCall(t, module, wasm.Request{Entry: "upper", Input: []byte("plinth")}); got != "PLINTH" {
				t.Fatalf("got %q", got)
			}
		}
		large := strings.Repeat("ab", 1<<20)
		if got := mustCall(t, module, wasm.Request{Entry: "upper", Input: []byte(large)}); got != strings.ToUpper(large) {
			t.Errorf("%d bytes came back", len(got))
		}
	})
	t.Run("prints", func(t *testing.T) {
		var got lines
		mustCall(t, module, wasm.Request{Entry: "say", Input: []byte("hello"), Log: got.add})
		if diff := cmp.Diff([]string{"hello", "and on stdout"}, got.text); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("sleeps", func(t *testing.T) {
		took, err := time.ParseDuration(mustCall(t, module, wasm.Request{Entry: "nap", Input: make([]byte, 15)}))
		if err != nil || took < 15*time.Millisecond {
			t.Errorf("slept %s, %v", took, err)
		}
	})
	t.Run("has no files", func(t *testing.T) {
		got := mustCall(t, module, wasm.Request{Entry: "files", Input: []byte("/etc/passwd")})
		if !strings.Contains(got, "Bad file number") && !strings.Contains(got, "bad file") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("asks", func(t *testing.T) {
		got := mustCall(t, module, wasm.Request{Entry: "ask", Input: []byte("question"), Operations: operations(echo)})
		if got != "test.op(question)" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("panics", func(t *testing.T) {
		var got lines
		_, err := call(t, module, wasm.Request{Entry: "crash", Input: []byte("a bug in the guest"), Log: got.add})
		var trap *wasm.TrapError
		if !errors.As(err, &trap) || !strings.Contains(trap.Stack, "main.crash") {
			t.Errorf("got %#v", trap)
		}
		if trap == nil || !strings.HasPrefix(trap.Panic, "panic: a bug in the guest") || !strings.HasSuffix(err.Error(), ": "+trap.Panic) {
			t.Errorf("the panic is not in %v", err)
		}
		if !strings.Contains(strings.Join(got.text, "\n"), "panic: a bug in the guest") {
			t.Errorf("log %q", got.text)
		}
		if got := mustCall(t, module, wasm.Request{Entry: "upper", Input: []byte("again")}); got != "AGAIN" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("runs at once", func(t *testing.T) {
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				if _, err := module.Call(context.Background(), wasm.Request{Entry: "nap", Input: make([]byte, 5)}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	})
}
