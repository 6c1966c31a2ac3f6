package replay

import (
	mathrand "math/rand/v2"
	"time"
)

// remembered is a world for a guest that need not look at it as the recorded one did:
// each clock and the random bytes answer what was recorded, each in its order, and
// then go on by themselves. Sleep takes no time.
type remembered struct {
	realtime  []time.Time
	monotonic []time.Duration
	random    []byte

	now     time.Time
	passed  time.Duration
	further *mathrand.ChaCha8 // randomness beyond the recorded
}

func remember(steps []Step, now time.Time) *remembered {
	w := &remembered{now: now, further: mathrand.NewChaCha8([32]byte{})}
	for _, step := range steps {
		switch {
		case step.Realtime != nil:
			w.realtime = append(w.realtime, *step.Realtime)
		case step.Monotonic != nil:
			w.monotonic = append(w.monotonic, *step.Monotonic)
		default:
			w.random = append(w.random, step.Random...)
		}
	}
	return w
}

func (w *remembered) Realtime() time.Time {
	if len(w.realtime) > 0 {
		w.now, w.realtime = w.realtime[0], w.realtime[1:]
	}
	return w.now
}

func (w *remembered) Monotonic() time.Duration {
	if len(w.monotonic) > 0 {
		w.passed, w.monotonic = w.monotonic[0], w.monotonic[1:]
	}
	return w.passed
}

func (w *remembered) Sleep(d time.Duration) bool {
	w.now, w.passed = w.now.Add(d), w.passed+d
	return false
}

func (w *remembered) Random(p []byte) {
	n := copy(p, w.random)
	w.random = w.random[n:]
	_, _ = w.further.Read(p[n:]) // documented never to fail
}
