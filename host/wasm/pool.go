package wasm

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// pool holds a module's instances: at most as many alive as it has slots. An
// instance is leased to one call at a time.
type pool struct {
	slots chan struct{} // one token per leased instance

	mu        sync.Mutex
	idle      []*instance // longest unused first
	leased    int
	started   int
	discarded int
}

func newPool(instances int) *pool {
	return &pool{slots: make(chan struct{}, instances)}
}

// enter waits for a slot: ErrBusy after the time, ErrCancelled when ctx ends.
func (p *pool) enter(ctx context.Context, wait time.Duration) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-timer.C:
		return ErrBusy
	case <-ctx.Done():
		return endOf(ctx)
	}
}

// take answers an idle instance that serves the session or has not served any, or
// nil. Then one of another session may have to go, which the caller closes.
func (p *pool) take(session string) (found, evicted *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leased++
	for i, v := range slices.Backward(p.idle) {
		if found = v; !found.used || found.session == session {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			return found, nil
		}
	}
	p.started++
	if len(p.idle) > 0 && p.leased+len(p.idle) > cap(p.slots) {
		evicted = p.idle[0]
		p.idle = append(p.idle[:0], p.idle[1:]...)
		p.discarded++
	}
	return nil, evicted
}

// leave ends a lease; the instance becomes idle, or is gone when it is nil.
func (p *pool) leave(i *instance) {
	p.mu.Lock()
	p.leased--
	if i != nil {
		p.idle = append(p.idle, i)
	} else {
		p.discarded++
	}
	p.mu.Unlock()
	<-p.slots
}

func (p *pool) snapshot() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{Started: p.started, Discarded: p.discarded, Idle: len(p.idle), Leased: p.leased}
}

// close closes the idle instances; none may be leased.
func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	for _, i := range p.idle {
		err = errors.Join(err, i.close())
	}
	p.idle = nil
	return err
}
