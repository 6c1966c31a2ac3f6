package wasm_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// worldly is a guest with one entry that reads all that a guest can read of the
// world, twice, with a sleep of an hour between, and answers
//
//	realtime, monotonic, 8 random bytes, resolution; the same again
//
// as 8 words. It turns a loop as often as the first random byte says, so that its
// fuel tells what it read.
func worldly() wasm.Spec {
	guest := new(Module)
	clock := guest.Import(wasi, "clock_time_get", Types(I32, I64, I32), Types(I32))
	resolution := guest.Import(wasi, "clock_res_get", Types(I32, I32), Types(I32))
	random := guest.Import(wasi, "random_get", Types(I32, I32), Types(I32))
	poll := guest.Import(wasi, "poll_oneoff", Types(I32, I32, I32, I32), Types(I32))
	guest.Core().Data(2000, string(clockSubscription(1, 1, uint64(time.Hour), 0)))
	const at = 20_000
	read := func(at int32) string {
		return Code(
			Const(0), Const64(0), Const(at), Call(clock), Drop,
			Const(1), Const64(0), Const(at+8), Call(clock), Drop,
			Const(at+16), Const(8), Call(random), Drop,
			Const(1), Const(at+24), Call(resolution), Drop)
	}
	guest.Entry("look",
		read(at),
		Const(2000), Const(1000), Const(1), Const(1100), Call(poll), Drop,
		read(at+32),
		Const(at+16), Load8, Const(1000), Mul, Const(1), Add, Set(2),
		Loop, Get(2), Const(1), Sub, Tee(2), BrIf(0), End,
		Answer(Const(at), Const(64)))
	return wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"look"}, Pure: true}
}

// look is what the guest saw.
type look struct {
	Realtime, Monotonic, Random, Resolution uint64
}

func looks(t *testing.T, output []byte) (first, second look) {
	t.Helper()
	if len(output) != 64 {
		t.Fatalf("%d bytes", len(output))
	}
	word := func(n int) uint64 { return binary.LittleEndian.Uint64(output[8*n:]) }
	return look{word(0), word(1), word(2), word(3)}, look{word(4), word(5), word(6), word(7)}
}

func mustLook(t *testing.T, module *wasm.Module, request wasm.Request) wasm.Result {
	t.Helper()
	request.Entry = "look"
	result, err := call(t, module, request)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// The world of a pure call is the same whenever and wherever it takes place, and
// sleep takes no time.
func TestPureCallsRepeat(t *testing.T) {
	began := time.Now()
	var want wasm.Result
	for _, isolation := range isolations() {
		spec := worldly()
		spec.Isolation = isolation
		module := load(t, spec)
		for range 2 {
			got := mustLook(t, module, wasm.Request{Input: []byte("question")})
			got.Duration, got.Waited, got.Served = 0, 0, 0
			if want.Output == nil {
				want = got
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", isolation, diff)
			}
		}
	}
	first, second := looks(t, want.Output)
	moment := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if first.Realtime != uint64(moment.UnixNano()) || first.Monotonic != uint64(time.Second) || first.Resolution != 1 {
		t.Errorf("first look %+v", first)
	}
	if second.Realtime-first.Realtime != uint64(time.Hour) || second.Monotonic-first.Monotonic != uint64(time.Hour) || second.Random == first.Random {
		t.Errorf("second look %+v after %+v", second, first)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("sleep took %s", took)
	}
}

// Another input, entry or module has other randomness.
func TestPureRandomnessFollowsFromTheCall(t *testing.T) {
	seen := make(map[uint64]string)
	note := func(what string, output []byte) {
		t.Helper()
		first, _ := looks(t, output)
		if other, ok := seen[first.Random]; ok {
			t.Errorf("%s draws the same as %s", what, other)
		}
		seen[first.Random] = what
	}
	module := load(t, worldly())
	for _, input := range []string{"", "a", "b", "ab"} {
		note("input "+input, mustLook(t, module, wasm.Request{Input: []byte(input)}).Output)
	}
	other := worldly()
	other.Wasm = append(other.Wasm, Section(0, []byte("\x05other"))...)
	note("another module", mustLook(t, load(t, other), wasm.Request{}).Output)
}

// recording notes what a guest reads of the world behind it.
type recording struct {
	world wasm.Ambient
	reads []any
}

// keep notes a read and answers it.
func keep[T any](r *recording, read T) T {
	r.reads = append(r.reads, read)
	return read
}

func (r *recording) Realtime() time.Time        { return keep(r, r.world.Realtime()) }
func (r *recording) Monotonic() time.Duration   { return keep(r, r.world.Monotonic()) }
func (r *recording) Sleep(d time.Duration) bool { r.world.Sleep(d); return keep(r, true) }
func (r *recording) Random(p []byte)            { r.world.Random(p); keep(r, bytes.Clone(p)) }

// replay plays it back; sleep takes no time then.
type replay struct {
	t     *testing.T
	reads []any
}

func next[T any](r *replay) (read T) {
	r.t.Helper()
	if len(r.reads) == 0 {
		r.t.Error("it reads more than was recorded")
		return read
	}
	read, ok := r.reads[0].(T)
	if !ok {
		r.t.Errorf("it reads another thing than the recorded %v", r.reads[0])
	}
	r.reads = r.reads[1:]
	return read
}

func (r *replay) Realtime() time.Time      { return next[time.Time](r) }
func (r *replay) Monotonic() time.Duration { return next[time.Duration](r) }
func (r *replay) Sleep(time.Duration) bool { next[bool](r); return false }
func (r *replay) Random(p []byte)          { copy(p, next[[]byte](r)) }

// machine is what stands behind a recording; a test may not ask the engine's.
type machine struct{ began time.Time }

func (machine) Realtime() time.Time        { return time.Now() }
func (m machine) Monotonic() time.Duration { return time.Since(m.began) }
func (machine) Sleep(time.Duration) bool   { return true }
func (machine) Random(p []byte)            { copy(p, marker()) }

// All reads of the world go through the request's Ambient, so playing them back
// gives the same answer for the same fuel.
func TestRecordedCallRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := worldly()
		spec.Pure = false
		module := loadIn(t, newEngine(t, options()), spec)
		var before wasm.Result
		for range 5 {
			record := &recording{world: machine{time.Now()}}
			began := time.Now()
			want := mustLook(t, module, wasm.Request{Ambient: record, Deadline: 2 * time.Hour})
			if took := time.Since(began); took != time.Hour || want.Duration != time.Hour {
				t.Errorf("an hour's sleep took %s, of which %s counted", took, want.Duration)
			}
			if len(record.reads) < 9 {
				t.Errorf("%d reads went through the recorder", len(record.reads))
			}
			again := &replay{t: t, reads: record.reads}
			began = time.Now()
			got := mustLook(t, module, wasm.Request{Ambient: again})
			if !bytes.Equal(got.Output, want.Output) || got.Fuel != want.Fuel || len(again.reads) != 0 || time.Since(began) != 0 {
				t.Errorf("replayed: %x for %d, recorded %x for %d; %d reads left", got.Output, got.Fuel, want.Output, want.Fuel, len(again.reads))
			}
			if bytes.Equal(want.Output, before.Output) {
				t.Error("two recordings are the same")
			}
			before = want
		}
	})
}
