package probation

import "time"

// Backoff says when a plugin that did not start is tried again. Zero fields take the
// default.
type Backoff struct {
	First    time.Duration `json:"first"`    // the wait after the first failure; it doubles with each; 1 s
	Most     time.Duration `json:"most"`     // the longest wait; 5 min
	Attempts int           `json:"attempts"` // failures in a row that quarantine it; 5
}

// After answers what follows so many failures in a row: the wait for the next
// attempt, or quarantine. After none there is nothing to wait for.
func (b Backoff) After(failures int) (wait time.Duration, quarantine bool) {
	b = b.defaults()
	switch {
	case failures <= 0:
		return 0, false
	case failures >= b.Attempts:
		return 0, true
	}
	wait = min(b.First, b.Most)
	for range failures - 1 {
		if wait > b.Most/2 {
			return b.Most, false
		}
		wait *= 2
	}
	return wait, false
}

func (b Backoff) defaults() Backoff {
	if b.First <= 0 {
		b.First = time.Second
	}
	if b.Most <= 0 {
		b.Most = 5 * time.Minute
	}
	if b.Attempts <= 0 {
		b.Attempts = 5
	}
	return b
}
