package hostile

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
	w "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// What takes more than one call, or more than one module, to show.

// load admits a module with the entries.
func (e engine) load(t *testing.T, name string, module *w.Module, limits wasm.Limits, entries ...string) *wasm.Module {
	t.Helper()
	loaded, err := e.Load(context.Background(), wasm.Spec{Name: name, Wasm: module.Bytes(), Entries: entries, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// answer is the output of a call that must succeed.
func answer(t *testing.T, module *wasm.Module, request wasm.Request) []byte {
	t.Helper()
	result, err := module.Call(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	return result.Output
}

// Row 9: a module within every limit of form that takes the compiler long. It ends
// with its child; this process neither waits for more than it allowed nor grows.
func TestCompileBombEndsInItsChild(t *testing.T) {
	for name, limits := range map[string]wasm.CompileLimits{
		"time":   {Base: 100 * time.Millisecond, PerMiB: time.Millisecond},
		"memory": {Base: time.Minute, MemoryMiB: 32},
	} {
		t.Run(name, func(t *testing.T) {
			options := options(t)
			e := newEngine(t, options) // whose neighbour is compiled without limits
			options.CompileLimits, options.CacheDir = limits, t.TempDir()+"/cache"
			bombed, err := wasm.New(options)
			if err != nil {
				t.Fatal(err)
			}
			defer bombed.Close()
			bomb := new(w.Module)
			run(strings.Repeat(w.Get(0)+w.Get(1)+w.Add+w.Set(2)+w.Get(2)+w.Load8+w.Set(0), 60_000))(bomb)
			spec := wasm.Spec{Name: "bomb", Wasm: bomb.Bytes(), Entries: []string{"run"}}
			before := resident(t)
			e.besides(t, func() {
				_, err := bombed.Load(context.Background(), spec)
				limit, _ := errors.AsType[*wasm.LimitError](err)
				refusal, _ := errors.AsType[*wasm.AdmissionError](err)
				if limit == nil || refusal == nil || refusal.Stage != wasm.StageCompile {
					t.Errorf("got %v", err)
				}
			})
			if grown := resident(t) - before; grown > 64<<20 {
				t.Errorf("this process grew by %d MiB", grown>>20)
			}
		})
	}
}

// resident is the process's memory in bytes, 0 where it cannot be told.
func resident(t *testing.T) int {
	t.Helper()
	fields, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, err := strconv.Atoi(strings.Fields(string(fields))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// Row 30: what an operation was handed stays what it was, whatever the guest does
// to its own copy later.
func TestRequestsAreCopies(t *testing.T) {
	e := newEngine(t, options(t))
	guest := new(w.Module)
	ask, _ := guest.Operations()
	guest.Core()
	request := w.Code(w.Const(0), w.Const(4), w.Const(w.Room), w.Const(4), w.Call(ask), w.Drop)
	guest.Entry("run", request, w.Const(w.Room), w.Const(-1), w.Store, request, w.Const64(0))
	var kept [][]byte
	keep := operations(func(_ context.Context, _ string, request []byte) []byte {
		kept = append(kept, request)
		return nil
	})
	answer(t, e.load(t, "guest", guest, wasm.Limits{}, "run"), wasm.Request{Entry: "run", Input: []byte("mine"), Operations: keep})
	if got := string(bytes.Join(kept, []byte(" "))); got != "mine \xff\xff\xff\xff" {
		t.Errorf("got %q", got)
	}
}

// asks is a guest that asks for one operation.
func asks() *w.Module {
	guest := new(w.Module)
	ask, _ := guest.Operations()
	guest.Core().Entry("run", w.Const(0), w.Const(4), w.Const(0), w.Const(0), w.Call(ask), w.Drop, w.Const64(0))
	return guest
}

// Rows 31 and 32: operations that call guests again, of the same module or in a
// ring, end when places are used up, and leave them all to the next.
func TestCallsThatCallThemselves(t *testing.T) {
	for name, waits := range map[string]bool{"holding the processor": false, "waiting": true} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, options(t))
			limits := wasm.Limits{Instances: 3, PoolMiB: 1, Wait: 20 * time.Millisecond}
			ring := []*wasm.Module{e.load(t, "a", asks(), limits, "run"), e.load(t, "b", asks(), limits, "run")}
			depth, deepest := 0, 0
			var again operations
			again = func(ctx context.Context, _ string, _ []byte) []byte {
				depth++
				deepest = max(deepest, depth)
				defer func() { depth-- }()
				call := func(ctx context.Context) error {
					_, err := ring[depth%2].Call(ctx, wasm.Request{Entry: "run", Operations: again})
					return err
				}
				var err error
				if waits {
					err = wasm.Wait(ctx, call)
				} else {
					err = call(ctx)
				}
				if err != nil && !errors.Is(err, wasm.ErrBusy) {
					t.Errorf("depth %d: %v", depth, err)
				}
				return nil
			}
			e.besides(t, func() { answer(t, ring[0], wasm.Request{Entry: "run", Operations: again}) })
			if deepest < 1 || deepest > 40 { // 1 MiB of instances of 64 KiB, of two modules
				t.Errorf("%d deep", deepest)
			}
			for _, module := range ring {
				answer(t, module, wasm.Request{Entry: "run"})
				if stats := module.Stats(); stats.Leased != 0 || stats.Parked != 0 || stats.Idle > limits.Instances {
					t.Errorf("%+v", stats)
				}
			}
		})
	}
}

// Row 32: A waits for B, and B for A, each with the only place of its module. Both
// end by themselves.
func TestCallsThatWaitForEachOther(t *testing.T) {
	e := newEngine(t, options(t))
	limits := wasm.Limits{Instances: 1, Wait: 50 * time.Millisecond}
	a, b := e.load(t, "a", asks(), limits, "run"), e.load(t, "b", asks(), limits, "run")
	var inside, group sync.WaitGroup
	inside.Add(2)
	crossing := func(other *wasm.Module) operations {
		return func(ctx context.Context, _ string, _ []byte) []byte {
			err := wasm.Wait(ctx, func(ctx context.Context) error { inside.Done(); inside.Wait(); return nil })
			if err == nil {
				_, err = other.Call(ctx, wasm.Request{Entry: "run"})
			}
			if err != nil && !errors.Is(err, wasm.ErrBusy) {
				t.Errorf("got %v", err)
			}
			return nil
		}
	}
	for _, pair := range [][2]*wasm.Module{{a, b}, {b, a}} {
		group.Go(func() {
			if _, err := pair[0].Call(context.Background(), wasm.Request{Entry: "run", Operations: crossing(pair[1])}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// Row 35: an operation that ignores its end keeps its own call only. The call ends
// with it.
func TestOperationThatIgnoresItsEnd(t *testing.T) {
	e := newEngine(t, options(t))
	module := e.load(t, "guest", asks(), wasm.Limits{Deadline: 5 * time.Millisecond}, "run")
	begun, over := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		stay := operations(func(ctx context.Context, _ string, _ []byte) []byte {
			close(begun)
			<-over
			if ctx.Err() == nil {
				t.Error("its context goes on")
			}
			return nil
		})
		_, err := module.Call(context.Background(), wasm.Request{Entry: "run", Operations: stay})
		ended <- err
	}()
	<-begun
	e.besides(t, func() {
		late, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		defer cancel()
		<-late.Done()
		select {
		case err := <-ended:
			t.Errorf("it ended under its operation: %v", err)
		default:
		}
	})
	close(over)
	if err := <-ended; err != nil { // it was told, and answered
		t.Error(err)
	}
}

// Row 49: no two calls, instances or modules draw the same.
func TestRandomnessIsNobodysTwice(t *testing.T) {
	e := newEngine(t, options(t))
	guest := new(w.Module)
	random := guest.Import("wasi_snapshot_preview1", "random_get", w.Types(w.I32, w.I32), w.Types(w.I32))
	guest.Core().Entry("run", w.Const(w.Room), w.Const(16), w.Call(random), w.Drop, w.Answer(w.Const(w.Room), w.Const(16)))
	seen := make(map[string]bool)
	for n := range 4 {
		guest.Custom("number", []byte{byte(n)})
		for _, module := range []*wasm.Module{e.load(t, "a", guest, wasm.Limits{}, "run"), e.load(t, "b", guest, wasm.Limits{}, "run")} {
			for range 10 {
				drawn := string(answer(t, module, wasm.Request{Entry: "run"}))
				if seen[drawn] || drawn == string(make([]byte, 16)) {
					t.Fatalf("% x is drawn again", drawn)
				}
				seen[drawn] = true
			}
		}
	}
}

// Row 50: what one session leaves in memory and globals no other session finds,
// however many share the module at a time, and however their calls end.
func TestSessionsLeaveNothing(t *testing.T) {
	e := newEngine(t, options(t))
	module := e.load(t, "secret", w.Secret(), wasm.Limits{Instances: 3}, "hide", "find", "reach", "trap")
	var mu sync.Mutex
	var told [][]byte
	var group sync.WaitGroup
	for session := range 4 {
		group.Go(func() {
			for range 10 {
				message := make([]byte, 8)
				_, _ = rand.Read(message)
				for _, entry := range []string{"hide", "trap"} {
					_, err := module.Call(context.Background(), wasm.Request{Entry: entry, Input: message, Session: fmt.Sprint(session)})
					if kind := map[string]string{"hide": "", "trap": wasm.KindTrap}[entry]; wasm.Kind(err) != kind {
						t.Errorf("%s: %v", entry, err)
					}
				}
				mu.Lock()
				told = append(told, message)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	for n, message := range told {
		found := answer(t, module, wasm.Request{Entry: []string{"find", "reach"}[n%2], Input: message, Session: "another"})
		if count := binary.LittleEndian.Uint32(found); count != 0 {
			t.Fatalf("%d traces of another session", count)
		}
	}
}
