package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff spaces attempts: a random time up to First, doubling up to Max.
type Backoff struct {
	First time.Duration // 250 ms when 0
	Max   time.Duration // 30 s when 0
}

func (b Backoff) withDefaults() Backoff {
	if b.First <= 0 {
		b.First = 250 * time.Millisecond
	}
	if b.Max <= 0 {
		b.Max = 30 * time.Second
	}
	return b
}

// after answers how long to wait after so many failures in a row, from 1 on.
func (b Backoff) after(failures int) time.Duration {
	limit := b.First
	for range failures - 1 {
		if limit *= 2; limit >= b.Max {
			break
		}
	}
	return time.Duration(rand.Int64N(int64(min(limit, b.Max)) + 1))
}

// pause waits, or answers why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
