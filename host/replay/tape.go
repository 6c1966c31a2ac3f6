package replay

import (
	"bytes"
	"errors"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
)

// stepBytes is what a step costs of a recorder's limit besides what it holds.
const stepBytes = 64

// tape takes down the steps of one call, or of one start. It serves the goroutine
// of the call.
type tape struct {
	steps []Step
	left  int  // bytes it may still hold
	cut   bool // it was full
	ran   bool // the guest's world was asked for

	asked   *Operation // waits for its answer
	asleep  time.Time  // when the last step began, if it is a sleep
	world   wasm.Ambient
	outer   wasm.Observer // gets all that the tape gets; nil for none
	patient bool          // the last sleep takes real time
}

// add takes a step down if it has room.
func (t *tape) add(size int, step Step) bool {
	if !t.room(stepBytes + size) {
		return false
	}
	t.steps = append(t.steps, step)
	return true
}

// room takes room for so many bytes. Once there is too little, nothing more is taken
// down.
func (t *tape) room(size int) bool {
	if t.cut || size > t.left {
		t.cut = true
		return false
	}
	t.left -= size
	return true
}

// World puts the tape between a call and its world.
func (t *tape) World(world wasm.Ambient) wasm.Ambient {
	if t.outer != nil {
		world = t.outer.World(world)
	}
	t.ran, t.world = true, world
	return t
}

// Asked begins an operation.
func (t *tape) Asked(name string, request []byte) {
	if t.outer != nil {
		t.outer.Asked(name, request)
	}
	t.asked = nil
	if t.room(stepBytes + len(name) + len(request)) {
		t.asked = &Operation{Name: name, Request: append(Data{}, request...)}
		t.steps = append(t.steps, Step{Operation: t.asked})
	}
}

// Answered ends it, or is all there is of one that the engine refused unread.
func (t *tape) Answered(answer []byte, ended error) {
	if t.outer != nil {
		t.outer.Answered(answer, ended)
	}
	operation := t.asked
	t.asked = nil
	if operation == nil {
		operation = new(Operation)
		if !t.add(0, Step{Operation: operation}) {
			return
		}
	}
	if t.room(len(answer)) {
		operation.Answer, operation.Ended = append(Data{}, answer...), endedOf(ended)
	}
}

// Logged takes a line down.
func (t *tape) Logged(line string) {
	if t.outer != nil {
		t.outer.Logged(line)
	}
	t.add(len(line), Step{Log: &line})
}

// Realtime is the world's.
func (t *tape) Realtime() time.Time {
	now := t.world.Realtime().UTC()
	t.add(0, Step{Realtime: &now})
	return now
}

// Monotonic is the world's.
func (t *tape) Monotonic() time.Duration {
	now := t.world.Monotonic()
	t.add(0, Step{Monotonic: &now})
	return now
}

// Sleep is the world's.
func (t *tape) Sleep(d time.Duration) bool {
	t.patient = t.world.Sleep(d)
	t.asleep = time.Now()
	t.add(0, Step{Sleep: &Sleep{Duration: d}})
	return t.patient
}

// Random is the world's.
func (t *tape) Random(p []byte) {
	t.world.Random(p)
	t.add(len(p), Step{Random: bytes.Clone(p)})
}

// finish marks the sleep that the end of the call cut short.
func (t *tape) finish(err error) {
	var last *Sleep
	for _, step := range t.steps {
		if step.Log == nil {
			last = step.Sleep
		}
	}
	if last == nil || t.cut || !t.patient || !errors.Is(err, wasm.ErrDeadline) && !errors.Is(err, wasm.ErrCancelled) {
		return
	}
	last.Stopped = time.Since(t.asleep) < last.Duration
}

// startBytes bounds what is taken down of the start of an instance.
const startBytes = 1 << 20

// Start is for wasm.Spec.Start of a module whose calls are to be recorded: without
// it a recording does not know what the instance read of the world when it started,
// which may show in every call.
func Start(world wasm.Ambient) wasm.Ambient {
	return &tape{world: world, left: startBytes}
}

// startOf are the steps of a start that was recorded whole, else nil.
func startOf(start wasm.Ambient) []Step {
	t, ok := start.(*tape)
	if !ok || t.cut {
		return nil
	}
	return append([]Step{}, t.steps...)
}
