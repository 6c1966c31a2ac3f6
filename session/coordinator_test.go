package session

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"
)

// gate is a drain that says when it begins and ends when it is told to.
type gate struct {
	began chan bool // force
	end   chan error
}

func newGate() *gate { return &gate{began: make(chan bool), end: make(chan error)} }

func (g *gate) drain(ctx context.Context, _ string, force bool) error {
	g.began <- force
	select {
	case err := <-g.end:
		return err
	case <-ctx.Done():
		<-g.end // cleaning up takes until the test says so
		return context.Cause(ctx)
	}
}

func coordinated(t *testing.T, test func(t *testing.T, c *Coordinator, g *gate)) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		c := NewCoordinator(g.drain, hclog.NewNullLogger())
		test(t, c, g)
		c.Close()
	})
}

func idle(t *testing.T, c *Coordinator) {
	t.Helper()
	synctest.Wait()
	if active := c.Active(); len(active) > 0 {
		t.Fatalf("active: %v", active)
	}
}

func TestWakesCoalesceIntoOneFollower(t *testing.T) {
	coordinated(t, func(t *testing.T, c *Coordinator, g *gate) {
		c.Wake("s", 1)
		if <-g.began {
			t.Fatal("a wake's drain is not forced")
		}
		for seq := range int64(5) {
			c.Wake("s", seq+2)
		}
		g.end <- nil
		<-g.began
		g.end <- nil
		idle(t, c)
	})
}

func TestRunJoinsARunAndFollowsAWake(t *testing.T) {
	coordinated(t, func(t *testing.T, c *Coordinator, g *gate) {
		failure := errors.New("provider")
		c.Wake("s", 1)
		<-g.began
		results := make(chan error, 2)
		for range 2 {
			go func() { results <- c.Run(t.Context(), "s") }()
		}
		synctest.Wait()
		g.end <- nil
		if !<-g.began {
			t.Fatal("the second drain must be forced")
		}
		c.Wake("s", 2) // a successor that succeeds must not hide the failure
		g.end <- failure
		<-g.began
		g.end <- nil
		for range 2 {
			if err := <-results; !errors.Is(err, failure) {
				t.Fatalf("Run = %v, want the failure", err)
			}
		}
		idle(t, c)
	})
}

func TestACancelledCallerLeavesTheDrain(t *testing.T) {
	coordinated(t, func(t *testing.T, c *Coordinator, g *gate) {
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan error, 1)
		go func() { results <- c.Run(ctx, "s") }()
		<-g.began
		cancel()
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		other := make(chan error, 1)
		go func() { other <- c.Run(t.Context(), "s") }()
		synctest.Wait()
		g.end <- nil
		if err := <-other; err != nil {
			t.Fatal(err)
		}
		idle(t, c)
	})
}

func TestInterruptWaitsForCleanUpAndKeepsNewerWakes(t *testing.T) {
	coordinated(t, func(t *testing.T, c *Coordinator, g *gate) {
		c.Wake("s", 1)
		<-g.began
		stopped := make(chan error, 1)
		go func() { stopped <- c.Interrupt(t.Context(), "s", 5) }()
		synctest.Wait()
		select {
		case <-stopped:
			t.Fatal("Interrupt returned before the clean-up")
		default:
		}
		c.Wake("s", 4) // older than the boundary
		c.Wake("s", 6)
		g.end <- nil
		if err := <-stopped; err != nil {
			t.Fatal(err)
		}
		<-g.began // for 6
		g.end <- nil
		idle(t, c)
	})
}

func TestInterruptDropsOlderWork(t *testing.T) {
	coordinated(t, func(t *testing.T, c *Coordinator, g *gate) {
		c.Wake("s", 1)
		<-g.began
		c.Wake("s", 2)
		run := make(chan error, 1)
		go func() { run <- c.Run(t.Context(), "s") }()
		synctest.Wait()
		go func() { _ = c.Interrupt(t.Context(), "s", 5) }()
		if err := <-run; !errors.Is(err, ErrInterrupted) {
			t.Fatalf("Run = %v, want ErrInterrupted", err)
		}
		g.end <- nil
		idle(t, c)
	})
}

func TestInterruptSparesAWakeThatIsNewer(t *testing.T) {
	coordinated(t, func(t *testing.T, c *Coordinator, g *gate) {
		if err := c.Interrupt(t.Context(), "s", 3); err != nil { // idle: nothing to do
			t.Fatal(err)
		}
		c.Wake("s", 9)
		<-g.began
		if err := c.Interrupt(t.Context(), "s", 7); err != nil {
			t.Fatal(err)
		}
		g.end <- nil // it was not stopped, so it ends by this alone
		idle(t, c)
	})
}

func TestRunDuringCleanUpStartsAfresh(t *testing.T) {
	coordinated(t, func(t *testing.T, c *Coordinator, g *gate) {
		c.Wake("s", 1)
		<-g.began
		go func() { _ = c.Interrupt(t.Context(), "s", 2) }()
		synctest.Wait()
		run := make(chan error, 1)
		go func() { run <- c.Run(t.Context(), "s") }()
		synctest.Wait()
		g.end <- nil
		if !<-g.began {
			t.Fatal("the fresh drain must be forced")
		}
		g.end <- nil
		if err := <-run; err != nil {
			t.Fatal(err)
		}
		idle(t, c)
	})
}

func TestCloseSettlesEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		c := NewCoordinator(g.drain, hclog.NewNullLogger())
		c.Wake("s", 1)
		<-g.began
		run := make(chan error, 1)
		go func() { run <- c.Run(t.Context(), "s") }()
		synctest.Wait()
		closed := make(chan struct{})
		go func() { c.Close(); close(closed) }()
		if err := <-run; !errors.Is(err, ErrShutdown) {
			t.Fatal(err)
		}
		g.end <- nil
		<-closed
		c.Close()
		c.Wake("s", 2)
		if err := c.Run(t.Context(), "s"); !errors.Is(err, ErrShutdown) {
			t.Fatal(err)
		}
		idle(t, c)
	})
}

func TestTenThousandSelfWakesDoNotNest(t *testing.T) {
	done := make(chan struct{})
	var c *Coordinator
	left := 10_000
	c = NewCoordinator(func(context.Context, string, bool) error {
		if left--; left == 0 {
			close(done)
			return nil
		}
		c.Wake("s", 1)
		return nil
	}, hclog.NewNullLogger())
	c.Wake("s", 1)
	<-done
	c.Close()
}
