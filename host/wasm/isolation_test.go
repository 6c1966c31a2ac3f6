package wasm_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// isolations are all there are.
func isolations() []wasm.Isolation { return []wasm.Isolation{wasm.Restore, wasm.Fresh, wasm.Sticky} }

// loadIn loads a module that must be admitted into an engine.
func loadIn(t testing.TB, engine *wasm.Engine, spec wasm.Spec) *wasm.Module {
	t.Helper()
	if spec.Name == "" {
		spec.Name = "guest"
	}
	module, err := engine.Load(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

func secret() wasm.Spec {
	return wasm.Spec{Wasm: Secret().Bytes(), Entries: []string{"hide", "find", "reach", "trap"}}
}

// marker makes a secret's message.
func marker() []byte {
	message := make([]byte, 8)
	_, _ = rand.Read(message)
	return message
}

// finds calls find or reach.
func finds(t *testing.T, module *wasm.Module, entry, session string, message []byte) int {
	t.Helper()
	return int(binary.LittleEndian.Uint32([]byte(mustCall(t, module, wasm.Request{Entry: entry, Session: session, Input: message}))))
}

func TestNoCallSeesWhatAnotherLeft(t *testing.T) {
	for _, isolation := range isolations() {
		t.Run(string(isolation), func(t *testing.T) {
			spec := secret()
			spec.Isolation = isolation
			module := load(t, spec)
			for round := range 3 {
				message := marker()
				mustCall(t, module, wasm.Request{Entry: "hide", Session: "a", Input: message})
				for _, entry := range []string{"find", "reach"} {
					if found := finds(t, module, entry, "b", message); found != 0 {
						t.Errorf("round %d, %s: session b finds %d traces of session a", round, entry, found)
					}
				}
				if result, err := call(t, module, wasm.Request{Entry: "find", Session: "b", Input: message}); err != nil || isolation == wasm.Restore && result.Memory != 64<<10 {
					t.Errorf("round %d: %d bytes of memory, %v", round, result.Memory, err)
				}
				own := finds(t, module, "find", "a", message)
				if kept := isolation == wasm.Sticky; kept != (own == 10) || !kept && own != 0 {
					t.Errorf("round %d: session a finds %d traces of itself", round, own)
				}
				if _, err := call(t, module, wasm.Request{Entry: "trap", Session: "a", Input: message}); wasm.Kind(err) != wasm.KindTrap {
					t.Errorf("got %v", err)
				}
				if found := finds(t, module, "reach", "a", message); found != 0 {
					t.Errorf("round %d: %d traces are left after a trap", round, found)
				}
			}
		})
	}
}

// The memory of a module that is gone becomes another's.
func TestNoModuleSeesWhatAnotherLeft(t *testing.T) {
	engine := newEngine(t, options())
	message := marker()
	for range 3 {
		module := loadIn(t, engine, secret())
		if found := finds(t, module, "reach", "", message); found != 0 {
			t.Errorf("%d traces of a module that is gone", found)
		}
		mustCall(t, module, wasm.Request{Entry: "hide", Input: message})
		if err := module.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A sticky instance that was used without a session is nobody else's.
func TestCallsWithoutASessionAreASession(t *testing.T) {
	module := load(t, wasm.Spec{Isolation: wasm.Sticky})
	count := func(session string) string {
		return mustCall(t, module, wasm.Request{Entry: "count", Session: session})
	}
	got := []string{count(""), count(""), count("a"), count("")}
	if diff := cmp.Diff([]string{"\x01", "\x02", "\x01", "\x03"}, got); diff != "" {
		t.Error(diff)
	}
}

// reseeding is a guest that draws 8 bytes when it starts and when it is reseeded.
//
//	seed  answers them, and how often it was reseeded
func reseeding() wasm.Spec {
	guest := new(Module)
	random := guest.Import(wasi, "random_get", Types(I32, I32), Types(I32))
	guest.Core()
	times := guest.Global(0)
	draw := Code(Const(1000), Const(8), Call(random), Drop)
	guest.Func("_initialize", nil, nil, nil, draw)
	guest.Func(Reseed, nil, nil, nil, draw, GetGlobal(times), Const(1), Add, SetGlobal(times))
	guest.Entry("seed", Const(1008), GetGlobal(times), Store8, Answer(Const(1000), Const(9)))
	return wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"seed"}}
}

func TestReseed(t *testing.T) {
	for isolation, want := range map[wasm.Isolation][]byte{
		wasm.Restore: {1, 1, 1, 1}, // put back before each
		wasm.Sticky:  {1, 1, 1, 1}, // once in an instance, which is a's or b's
		wasm.Fresh:   {0, 0, 0, 0}, // it begins with randomness of its own
	} {
		for _, lazy := range []bool{false, true} {
			spec := reseeding()
			spec.Isolation, spec.Lazy = isolation, lazy
			module := load(t, spec)
			var times []byte
			seeds := make(map[string]bool)
			for _, session := range []string{"a", "b", "a", "b"} {
				answer := mustCall(t, module, wasm.Request{Entry: "seed", Session: session})
				times = append(times, answer[8])
				seeds[answer[:8]] = true
			}
			if distinct := map[bool]int{true: 2, false: 4}[isolation == wasm.Sticky]; len(seeds) != distinct {
				t.Errorf("%s, lazy %v: %d distinct seeds, want %d", isolation, lazy, len(seeds), distinct)
			}
			if !bytes.Equal(times, want) {
				t.Errorf("%s, lazy %v: reseeded %v times, want %v", isolation, lazy, times, want)
			}
		}
	}
}

func TestTrapWhileReseeding(t *testing.T) {
	guest := new(Module).Core()
	guest.Func(Reseed, nil, nil, nil, Unreachable)
	guest.Entry("run", Const64(0))
	module := load(t, wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"run"}})
	for range 2 {
		if _, err := call(t, module, wasm.Request{Entry: "run"}); wasm.Kind(err) != wasm.KindTrap {
			t.Errorf("got %v", err)
		}
	}
	if stats := module.Stats(); stats.Discarded != 2 || stats.Idle != 0 {
		t.Errorf("%+v", stats)
	}
}

// Calls of one session take turns on its instance, also while one of them waits
// for the world outside; others go on meanwhile.
func TestOneStickyInstanceASession(t *testing.T) {
	guest := new(Module)
	host, _ := guest.Operations()
	guest.Core()
	count := guest.Global(0)
	guest.Entry("run",
		Const(0), Const(0), Const(0), Const(0), Call(host), Drop,
		GetGlobal(count), Const(1), Add, SetGlobal(count),
		Const(Room), GetGlobal(count), Store8, Answer(Const(Room), Const(1)))
	module := load(t, wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"run"}, Isolation: wasm.Sticky, Limits: wasm.Limits{Instances: 8}})
	var mu sync.Mutex
	inside := make(map[string]int)
	enter := func(session string, by int) {
		mu.Lock()
		defer mu.Unlock()
		if inside[session] += by; inside[session] > 1 {
			t.Errorf("%d calls of session %s at a time", inside[session], session)
		}
	}
	sessions := []string{"a", "b", "c"}
	results := make(map[string]map[string]bool)
	for _, session := range sessions {
		results[session] = make(map[string]bool)
	}
	const each = 10
	var group sync.WaitGroup
	for range each {
		for _, session := range sessions {
			group.Go(func() {
				visit := operations(func(ctx context.Context, _ string, _ []byte) []byte {
					enter(session, 1)
					defer enter(session, -1)
					_ = wasm.Wait(ctx, func(context.Context) error { return nil })
					return nil
				})
				result, err := module.Call(context.Background(), wasm.Request{Entry: "run", Session: session, Operations: visit})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				results[session][string(result.Output)] = true
			})
		}
	}
	group.Wait()
	for _, session := range sessions {
		if len(results[session]) != each || !results[session][string(rune(each))] {
			t.Errorf("session %s counted %d of %d", session, len(results[session]), each)
		}
	}
	if stats := module.Stats(); stats.Started != len(sessions) || stats.Discarded != 0 || stats.Idle != len(sessions) {
		t.Errorf("%+v", stats)
	}
}
