package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// places bounds how many commands run. A place that gets free goes to the session
// with the fewest running, and among those to the call that has waited longest.
type places struct {
	most int // calls that may wait

	mu      sync.Mutex
	free    int
	running map[string]int // by session
	waiting []*waiter      // in the order they came
}

type waiter struct {
	session string
	granted chan struct{} // closed under the lock, when the waiter leaves the line
}

func newPlaces(running, waiting int) *places {
	return &places{most: waiting, free: running, running: map[string]int{}}
}

// take waits for a place. The error is of type *Error when the line is full, and
// wraps the context's cause when that ends first.
func (p *places) take(ctx context.Context, session string) error {
	if ctx.Err() != nil {
		return notRun(ctx)
	}
	w := p.join(session)
	if w == nil {
		return &Error{Kind: KindBusy, Text: fmt.Sprintf("%d calls are waiting already; try again when some have ended", p.most)}
	}
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}
	if !p.withdraw(w) {
		p.give(session) // it was granted in between
	}
	return notRun(ctx)
}

func notRun(ctx context.Context) error {
	cause := context.Cause(ctx)
	if closed, ok := errors.AsType[*Error](cause); ok {
		return closed
	}
	return fmt.Errorf("run a command: wait for a place: %w", cause)
}

// join answers a waiter, granted already when there is a place, or nil when the line is full.
func (p *places) join(session string) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free == 0 && len(p.waiting) >= p.most {
		return nil
	}
	w := &waiter{session: session, granted: make(chan struct{})}
	p.waiting = append(p.waiting, w)
	p.grant()
	return w
}

// withdraw takes a waiter out of the line. It answers false when it has a place.
func (p *places) withdraw(w *waiter) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.Index(p.waiting, w)
	if at < 0 {
		return false
	}
	p.waiting = slices.Delete(p.waiting, at, at+1)
	return true
}

// give returns a place.
func (p *places) give(session string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass(session)
}

// pass returns a place to who is next. The caller holds the lock.
func (p *places) pass(session string) {
	p.free++
	if p.running[session]--; p.running[session] == 0 {
		delete(p.running, session)
	}
	p.grant()
}

// grant hands out what is free. The caller holds the lock.
func (p *places) grant() {
	for p.free > 0 && len(p.waiting) > 0 {
		next := 0
		for i, w := range p.waiting {
			if p.running[w.session] < p.running[p.waiting[next].session] {
				next = i
			}
		}
		w := p.waiting[next]
		p.waiting = slices.Delete(p.waiting, next, next+1)
		p.free--
		p.running[w.session]++
		close(w.granted)
	}
}
