package wasm

import "time"

// stopwatch measures what a call's deadline bounds. A tool's runs from its first
// instruction on, but stands while the call waits for something outside. A quick
// call's stands as well while it waits for a processor.
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

// read answers the time so far.
func (s *stopwatch) read(now time.Time) time.Duration {
	if s.since.IsZero() {
		return s.spent
	}
	return s.spent + now.Sub(s.since)
}

// left answers the time until the deadline, negative after it.
func (s *stopwatch) left(now time.Time) time.Duration { return s.limit - s.read(now) }
