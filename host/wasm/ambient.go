package wasm

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	mathrand "math/rand/v2"
	"time"
)

// Ambient is what a guest reads of the world without asking for it: clocks and
// randomness. A recorder stands behind it to make a call repeatable. It is used
// on the call's goroutine.
type Ambient interface {
	Realtime() time.Time
	// Monotonic counts from a moment of its own.
	Monotonic() time.Duration
	// Sleep says that the guest waits so long, and whether that takes real time.
	Sleep(d time.Duration) (real bool)
	Random(p []byte)
}

// Observer sees a call as its guest does, on the call's goroutine. What it is given
// it must not keep or change.
type Observer interface {
	// World answers what the guest gets for its clock and randomness; once, when an
	// instance was found for the call.
	World(world Ambient) Ambient
	// Asked comes before an operation that the engine could read.
	Asked(operation string, request []byte)
	// Answered comes once its answer waits for the guest, and without Asked for an
	// operation that the engine refused unread. ended is why the call has to end,
	// when the answer tells so. An operation in which the guest was stopped has none.
	Answered(answer []byte, ended error)
	// Logged comes with each line that Request.Log gets.
	Logged(line string)
}

// system is the machine's clock and randomness.
type system struct{ started time.Time }

func (system) Realtime() time.Time        { return time.Now() }
func (s system) Monotonic() time.Duration { return time.Since(s.started) }
func (system) Sleep(time.Duration) bool   { return true }
func (system) Random(p []byte)            { _, _ = rand.Read(p) } // documented never to fail

// fixedTime is when every call of a pure module takes place, in Unix seconds: the
// first of January 2026.
const fixedTime = 1_767_225_600

// fixed is the world of a pure call: time stands but for what the guest sleeps,
// and randomness follows from module, entry and input, so that the answer and the
// fuel of a call repeat.
type fixed struct {
	digest, entry string
	input         []byte
	passed        time.Duration
	random        *mathrand.ChaCha8 // once it is asked for: hashing an input costs
}

func (f *fixed) Realtime() time.Time { return time.Unix(fixedTime, 0).UTC().Add(f.passed) }

// Monotonic begins at a second: Go's runtime takes zero for a broken clock.
func (f *fixed) Monotonic() time.Duration   { return time.Second + f.passed }
func (f *fixed) Sleep(d time.Duration) bool { f.passed += d; return false }

func (f *fixed) Random(p []byte) {
	if f.random == nil {
		hash := sha256.New()
		for _, part := range [][]byte{[]byte(f.digest), []byte(f.entry), f.input} {
			hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
			hash.Write(part)
		}
		f.random = mathrand.NewChaCha8([32]byte(hash.Sum(nil)))
	}
	_, _ = f.random.Read(p) // documented never to fail
}

// ambient is the world of a call that brings none of its own.
func (m *Module) ambient(entry string, input []byte) Ambient {
	if m.spec.Pure {
		return &fixed{digest: m.prepared.Info.Digest, entry: entry, input: input}
	}
	return m.engine.system
}
