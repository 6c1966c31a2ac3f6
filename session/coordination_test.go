package session_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
)

// attempt is a drain that a test has in its hands. It cleans up until it is ended,
// whatever becomes of its context.
type attempt struct {
	*session.Work
	ctx context.Context
	end chan func() error // what it does last
}

// ends returns the drain, with an error or none.
func (a *attempt) ends(err error) { a.end <- func() error { return err } }

// cause says why the drain was told to stop, nil when it was not.
func (a *attempt) cause() error { return context.Cause(a.ctx) }

func (a *attempt) parks() bool {
	select {
	case <-a.Parking():
		return true
	default:
		return false
	}
}

// coordination is a coordinator in a bubble, with drains that a test holds.
type coordination struct {
	*session.Coordinator
	t     *testing.T
	began chan *attempt
	log   bytes.Buffer
}

func newCoordination(t *testing.T) *coordination {
	c := &coordination{t: t, began: make(chan *attempt)}
	logger := hclog.New(&hclog.LoggerOptions{Output: &c.log, DisableTime: true})
	c.Coordinator = session.NewCoordinator(func(ctx context.Context, work *session.Work) error {
		a := &attempt{work, ctx, make(chan func() error)}
		c.began <- a
		return (<-a.end)()
	}, logger)
	return c
}

// coordinated is a test of a coordinator. At its end nothing may be left.
func coordinated(test func(c *coordination)) func(*testing.T) {
	return func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newCoordination(t)
			test(c)
			c.idle()
		})
	}
}

// coordinate runs a test of a coordinator.
func coordinate(t *testing.T, name string, test func(c *coordination)) {
	t.Run(name, coordinated(test))
}

// fresh answers the drain that has begun and is in nobody's hands, nil without one.
func (c *coordination) fresh() *attempt {
	synctest.Wait()
	select {
	case a := <-c.began:
		return a
	default:
		return nil
	}
}

// next is fresh, and there must be one.
func (c *coordination) next() *attempt {
	c.t.Helper()
	a := c.fresh()
	if a == nil {
		c.t.Fatal("no drain began")
	}
	return a
}

// none holds that no other drain has begun.
func (c *coordination) none() {
	c.t.Helper()
	if a := c.fresh(); a != nil {
		c.t.Fatalf("a drain of %s began", a.Session)
	}
}

// idle holds that no drain runs and nothing of one is kept.
func (c *coordination) idle() {
	c.t.Helper()
	c.none()
	if c.Owned() > 0 || len(c.Active()) > 0 {
		c.t.Fatalf("active: %v", c.Active())
	}
}

// call makes a call that may wait. The answer receives what it returned.
func call(f func() error) <-chan error {
	answer := make(chan error, 1)
	go func() { answer <- f() }()
	return answer
}

func (c *coordination) interrupt(seq int64) <-chan error {
	return call(func() error { return c.Interrupt(c.t.Context(), "s", seq) })
}

func (c *coordination) settling() <-chan error {
	return call(func() error { return c.Settle(c.t.Context(), "s") })
}

func (c *coordination) waiting(answer <-chan error) {
	c.t.Helper()
	synctest.Wait()
	select {
	case err := <-answer:
		c.t.Fatalf("the call returned %v and should wait", err)
	default:
	}
}

func (c *coordination) returned(answer <-chan error, want error) {
	c.t.Helper()
	synctest.Wait()
	select {
	case err := <-answer:
		if !errors.Is(err, want) {
			c.t.Fatalf("the call returned %v, want %v", err, want)
		}
	default:
		c.t.Fatal("the call still waits")
	}
}
