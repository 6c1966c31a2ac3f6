package session_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// TestCoordinatorCases are the cases of the coordinator. What a run is for the one
// who asked for it stands in the tests of the runner.
func TestCoordinatorCases(t *testing.T) {
	sessiontest.Cases(t, "D", []sessiontest.Case{
		{Number: 73, Text: "An idle session that is woken gets one drain, whose context ends with it.",
			Run: coordinated(func(c *coordination) {
				c.Wake("s", 1)
				a := c.next()
				c.none()
				if a.Session != "s" || a.cause() != nil || !c.Running("s") {
					c.t.Errorf("drain of %q with cause %v, running %v", a.Session, a.cause(), c.Running("s"))
				}
				a.ends(nil)
				c.idle()
				if a.ctx.Err() == nil {
					c.t.Error("the context of a drain must end with it")
				}
			})},
		{Number: 74, Text: "Five wakes that arrive while a drain runs are one further drain, for the highest sequence of the five.",
			Run: coordinated(func(c *coordination) {
				c.Wake("s", 1)
				first := c.next()
				for seq := range int64(5) {
					c.Wake("s", 6-seq)
				}
				c.none()
				first.ends(nil)
				second := c.next()
				c.interrupt(5) // the newest of the five is 6, so this is not for it
				synctest.Wait()
				if second.cause() != nil {
					c.t.Errorf("cause %v; the highest sequence must be kept", second.cause())
				}
				second.ends(nil)
			})},
		{Number: 76, Text: "A person asks for a run while the drain of a wake is at work: a second drain follows, and the run has the " +
			"outcome of that one.",
			Ours: "A run is the event session.resume.requested and comes as a wake with its sequence; nobody is handed the exit of " +
				"a drain. Who asked reads the outcome of the activity in the log.",
			Run: coordinated(func(c *coordination) {
				c.Wake("s", 1)
				first := c.next()
				c.Wake("s", 2) // session.resume.requested
				done := c.settling()
				first.ends(nil)
				second := c.next()
				c.waiting(done)
				second.ends(nil)
				c.returned(done, nil)
			})},
		{Number: 77, Text: "A run fails and a drain after it succeeds: who asked for the run still learns of the failure.",
			Ours: "A failure is an event of the session, or a line of the operator's log when it could not be recorded; no later " +
				"drain can hide either.",
			Run: coordinated(func(c *coordination) {
				c.Wake("s", 1)
				first := c.next()
				c.Wake("s", 2)
				first.ends(errors.New("the disk is full"))
				c.next().ends(nil)
				synctest.Wait()
				if got, want := c.log.String(), "[ERROR] session drain failed: session=s error=\"the disk is full\"\n"; got != want {
					c.t.Errorf("log %q, want %q", got, want)
				}
			})},
		{Number: 79, Text: "Of two callers that wait for the same work one goes away: the work and the other caller go on.",
			Ours: "Callers wait until a session has settled or an interrupt has cleaned up, not for the exit of a drain.",
			Run: coordinated(func(c *coordination) {
				c.Wake("s", 1)
				a := c.next()
				ctx, cancel := context.WithCancelCause(c.t.Context())
				gone := errors.New("the client went away")
				leaving, staying := call(func() error { return c.Settle(ctx, "s") }), c.settling()
				synctest.Wait()
				cancel(gone)
				c.returned(leaving, gone)
				c.waiting(staying)
				if a.cause() != nil {
					c.t.Errorf("the drain was told %v", a.cause())
				}
				stopping := c.interrupt(5)
				c.returned(call(func() error { return c.Interrupt(ctx, "s", 6) }), gone)
				c.waiting(stopping)
				a.ends(nil)
				c.returned(stopping, nil)
				c.returned(staying, nil)
			})},
		{Number: 80, Text: "An interrupt of an idle session does nothing and leaves nothing behind.",
			Run: coordinated(func(c *coordination) {
				c.returned(c.interrupt(5), nil)
				c.idle()
			})},
		{Number: 82, Text: "After an interrupt at sequence 5, wakes of sequences up to 5 start nothing and one of sequence 6 does.",
			Ours: "The coordinator remembers the boundary while the drain cleans up; of an idle session the log remembers it, and a " +
				"late wake begins a drain that finds nothing to do.",
			Run: coordinated(func(c *coordination) {
				c.Wake("s", 1)
				first := c.next()
				stopping := c.interrupt(5)
				synctest.Wait()
				c.Wake("s", 4)
				c.Wake("s", 5)
				first.ends(nil)
				c.idle()
				c.returned(stopping, nil)

				c.Wake("s", 1)
				first = c.next()
				stopping = c.interrupt(5)
				synctest.Wait()
				c.Wake("s", 6)
				first.ends(nil)
				c.next().ends(nil)
				c.returned(stopping, nil)
			})},
		{Number: 83, Text: "An interrupt of sequence 7 leaves a drain alone that works for a wake of sequence 9.",
			Ours: "The opener of an activity counts as well: a drain that began with an old wake and opened an activity for newer " +
				"input is spared too.",
			Run: coordinated(func(c *coordination) {
				c.Wake("s", 9)
				woken := c.next()
				c.returned(c.interrupt(7), nil)
				if woken.cause() != nil {
					c.t.Errorf("the drain of a newer wake was told %v", woken.cause())
				}
				woken.ends(nil)

				c.Wake("s", 10)
				opening := c.next()
				opening.Opened(15)
				opening.Opened(12) // a prompt that waited longer
				c.returned(c.interrupt(14), nil)
				if opening.cause() != nil {
					c.t.Errorf("the drain with a newer activity was told %v", opening.cause())
				}
				stopping := c.interrupt(16)
				c.waiting(stopping)
				if !errors.Is(opening.cause(), session.ErrInterrupted) {
					c.t.Errorf("cause %v, want ErrInterrupted", opening.cause())
				}
				opening.ends(nil)
				c.returned(stopping, nil)
			})},
		{Number: 85, Text: "While a drain cleans up, a wake newer than the interrupt gets a drain after it, and one that is not newer is " +
			"dropped.",
			Run: coordinated(func(c *coordination) {
				c.Wake("s", 1)
				first := c.next()
				c.Wake("s", 2) // waits already, and is dropped
				stopping := c.interrupt(5)
				synctest.Wait()
				c.Wake("s", 3)
				first.ends(first.cause())
				c.returned(stopping, nil)
				c.idle()

				c.Wake("s", 6)
				first = c.next()
				c.Wake("s", 9) // waits already, and is kept
				stopping = c.interrupt(8)
				synctest.Wait()
				first.ends(first.cause())
				c.returned(stopping, nil) // without its successor
				c.next().ends(nil)
				synctest.Wait()
				if c.log.Len() > 0 {
					c.t.Errorf("an interrupt is no failure of a drain: %s", &c.log)
				}
			})},
		{Number: 86, Text: "A run that is asked for while a drain cleans up waits for it and then gets a drain of its own.",
			Ours: "The run is a resume event, which is newer than the boundary of the interrupt before it.",
			Run: coordinated(func(c *coordination) {
				c.Wake("s", 1)
				first := c.next()
				stopping := c.interrupt(2)
				synctest.Wait()
				c.Wake("s", 3) // session.resume.requested
				c.none()
				first.ends(nil)
				c.returned(stopping, nil)
				fresh := c.next()
				if fresh.cause() != nil {
					c.t.Errorf("the fresh drain was told %v", fresh.cause())
				}
				fresh.ends(nil)
			})},
		{Number: 88, Text: "Further interrupts during a clean-up wait for the same clean-up, and the highest boundary counts.",
			Run: coordinated(func(c *coordination) {
				c.Wake("s", 3)
				a := c.next()
				var joined []<-chan error
				for _, seq := range []int64{5, 7, 7, 2} {
					joined = append(joined, c.interrupt(seq))
					synctest.Wait()
					c.Wake("s", 6) // the highest boundary counts
				}
				for _, stopping := range joined {
					c.waiting(stopping)
				}
				a.ends(nil)
				for _, stopping := range joined {
					c.returned(stopping, nil)
				}
			})},
		{Number: 89, Text: "A drain that fails, panics or leaves its goroutine is followed by one for the wakes that came meanwhile.",
			Run: coordinated(func(c *coordination) {
				c.Wake("s", 1)
				for seq, fail := range []func() error{
					func() error { return errors.New("no network") },
					func() error { panic("a bug") },
					func() error { runtime.Goexit(); return nil },
					func() error { return &session.Failure{Code: session.FailureInternal, Message: "recorded"} },
				} {
					a := c.next()
					c.Wake("s", int64(seq)+2)
					a.end <- fail
				}
				c.next().ends(nil)
				c.idle()
				log := c.log.String()
				for _, want := range []string{`error="no network"`, `error="panic: a bug"`, "coordinator_test.go", `error="the drain left its goroutine"`} {
					if !strings.Contains(log, want) {
						c.t.Errorf("%s is not in the log:\n%s", want, log)
					}
				}
				if strings.Contains(log, "recorded") {
					c.t.Errorf("what stands in the log of the session is not reported again:\n%s", log)
				}
			})},
		{Number: 91, Text: "Closing lets every caller return, starts no further drain and ignores later wakes.",
			Ours: "Drains are asked to park at a boundary first and are cancelled when the grace is over.",
			Run: coordinated(func(c *coordination) {
				c.Wake("s", 1)
				a := c.next()
				c.Wake("s", 2)
				done, stopping := c.settling(), c.interrupt(0)
				c.returned(stopping, nil) // the drain is newer
				closed := call(func() error { c.Close(time.Minute); return nil })
				c.waiting(closed)
				c.Wake("s", 3)
				c.Wake("other", 1)
				if !a.parks() || a.cause() != nil {
					c.t.Errorf("parking %v, cause %v; want a drain that is asked and not yet told", a.parks(), a.cause())
				}
				a.ends(nil)
				c.returned(closed, nil)
				c.returned(done, nil)
				c.Wake("s", 4)
				c.returned(c.interrupt(5), nil)
				c.returned(c.settling(), nil)
			})},
		{Number: 92, Text: "Ten thousand drains that wake themselves one after the other do not nest.",
			Run: func(t *testing.T) {
				const drains = 10_000
				var c *session.Coordinator
				depths := map[int]int{} // drains by the depth of the stack under them
				left := drains
				c = session.NewCoordinator(func(context.Context, *session.Work) error {
					depths[runtime.Callers(0, make([]uintptr, 1000))]++
					if left--; left > 0 {
						c.Wake("s", int64(drains-left))
					}
					return nil
				}, hclog.NewNullLogger())
				c.Wake("s", 0)
				if err := c.Settle(t.Context(), "s"); err != nil {
					t.Fatal(err)
				}
				if left != 0 || len(depths) != 1 {
					t.Errorf("%d drains are missing; by depth of the stack: %v", left, depths)
				}
			}},
	})
}

func TestClose(t *testing.T) {
	coordinate(t, "what does not park within the grace is cancelled and waited for", func(c *coordination) {
		c.Wake("s", 1)
		a := c.next()
		began := time.Now()
		closed := call(func() error { c.Close(time.Minute); return nil })
		again := call(func() error { c.Close(time.Hour); return nil })
		<-a.ctx.Done()
		if waited := time.Since(began); waited != time.Minute || !errors.Is(a.cause(), session.ErrShutdown) {
			c.t.Errorf("cancelled after %s with %v, want a minute and ErrShutdown", waited, a.cause())
		}
		c.waiting(closed)
		c.waiting(again)
		a.ends(a.cause())
		c.returned(closed, nil)
		c.returned(again, nil)
		if c.log.Len() > 0 {
			c.t.Errorf("a shutdown is no failure of a drain: %s", &c.log)
		}
	})
	coordinate(t, "without a grace, without a drain, twice", func(c *coordination) {
		c.Close(0)
		c.Close(0)
	})
	coordinate(t, "an interrupt stops a drain that should park, and keeps its cause", func(c *coordination) {
		c.Wake("s", 1)
		a := c.next()
		closed := call(func() error { c.Close(time.Minute); return nil })
		synctest.Wait()
		stopping := c.interrupt(2)
		c.waiting(stopping)
		if !errors.Is(a.cause(), session.ErrInterrupted) {
			c.t.Errorf("cause %v, want ErrInterrupted", a.cause())
		}
		again := call(func() error { c.Close(0); return nil })
		c.waiting(again)
		if !errors.Is(a.cause(), session.ErrInterrupted) {
			c.t.Errorf("cause %v after the shutdown, want ErrInterrupted", a.cause())
		}
		a.ends(nil)
		for _, call := range []<-chan error{stopping, closed, again} {
			c.returned(call, nil)
		}
	})
}

func TestSessionsDrainSideBySide(t *testing.T) {
	coordinate(t, "and an interrupt concerns its own", func(c *coordination) {
		held := map[string]*attempt{}
		for i := range 100 {
			c.Wake(fmt.Sprint("s", i), 1)
			a := c.next()
			held[a.Session] = a
		}
		if len(held) != 100 || len(c.Active()) != 100 {
			c.t.Fatalf("%d sessions have a drain, %d are active", len(held), len(c.Active()))
		}
		stopping := call(func() error { return c.Interrupt(c.t.Context(), "s7", 2) })
		c.waiting(stopping)
		for session, a := range held {
			if stopped := a.cause() != nil; stopped != (session == "s7") {
				c.t.Errorf("%s: cause %v", session, a.cause())
			}
			a.ends(nil)
		}
		c.returned(stopping, nil)
	})
}

// TestWorkWithoutACoordinator: tests and tools may drain a session by hand.
func TestWorkWithoutACoordinator(t *testing.T) {
	work := &session.Work{Session: "s"}
	work.Opened(3)
	select {
	case <-work.Parking():
		t.Error("nobody shuts down")
	default:
	}
}
