package wasm

import "time"

// stretch is the most that counts of the time between two looks at a quick call's
// guest, which takes some 10 µs when it has a processor; what is longer, the machine
// mostly gave to others. A guest whose every instruction waits for the memory gains
// by it: its deadline is up to five times as long.
const stretch = time.Millisecond

// stopwatch measures what a call's deadline bounds. A tool's runs from its first
// instruction on, but stands while the call waits for something outside. A quick
// call's stands as well while it waits for a processor, of the engine or of the
// machine.
type stopwatch struct {
	limit time.Duration
	spent time.Duration // in stretches that ended
	since time.Time     // of the stretch that runs; zero while it stands
}

func (s *stopwatch) start(now time.Time) {
	if s.since.IsZero() {
		s.since = now
	}
}

func (s *stopwatch) stop(now time.Time) {
	if !s.since.IsZero() {
		s.spent += now.Sub(s.since)
		s.since = time.Time{}
	}
}

// lap ends a stretch of which at most that much counts, and begins the next.
func (s *stopwatch) lap(now time.Time, most time.Duration) {
	s.spent += min(now.Sub(s.since), most)
	s.since = now
}

// read answers the time so far.
func (s *stopwatch) read(now time.Time) time.Duration {
	if s.since.IsZero() {
		return s.spent
	}
	return s.spent + now.Sub(s.since)
}

// left answers the time until the deadline, negative after it.
func (s *stopwatch) left(now time.Time) time.Duration { return s.limit - s.read(now) }
