package runner_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// bubble runs a test in which time passes as soon as everybody waits.
func bubble(t *testing.T, options Options, test func(t *testing.T, w *World, id string)) {
	t.Helper()
	if options.Config.MaxParallelTools == 0 {
		options.Config = runner.DefaultConfig()
	}
	synctest.Test(t, func(t *testing.T) {
		w := New(t, options)
		test(t, w, w.Create())
	})
}

func overloaded() *session.ProviderError {
	return &session.ProviderError{Class: session.ProviderOverloaded, Message: "busy", Status: 529, Retryable: true}
}

// waits are how long the session was to wait for each of its retries.
func retryWaits(w *World, id string) []time.Duration {
	var all []time.Duration
	for _, retry := range payloads[session.RetryScheduled](w, id) {
		all = append(all, time.UnixMilli(retry.At).Sub(w.Encoder.Clock.Now()))
	}
	return all
}

func TestWhichFailuresAreTriedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		turn     Turn
		requests int
	}{
		"rate limit":                    {Fail(&session.ProviderError{Class: session.ProviderRateLimit}), 2},
		"overloaded":                    {Fail(&session.ProviderError{Class: session.ProviderOverloaded}), 2},
		"internal":                      {Fail(&session.ProviderError{Class: session.ProviderInternal}), 2},
		"transport":                     {Fail(&session.ProviderError{Class: session.ProviderTransport}), 2},
		"incomplete":                    {Events(), 2},
		"unknown, said to be retryable": {Fail(&session.ProviderError{Class: session.ProviderUnknown, Retryable: true}), 2},
		"unknown":                       {Fail(&session.ProviderError{Class: session.ProviderUnknown}), 1},
		"invalid request":               {Fail(&session.ProviderError{Class: session.ProviderInvalidRequest}), 1},
		"overflow":                      {Fail(&session.ProviderError{Class: session.ProviderContextOverflow}), 1},
		"authentication":                {Fail(&session.ProviderError{Class: session.ProviderAuthentication}), 1},
		"quota":                         {Fail(&session.ProviderError{Class: session.ProviderQuota}), 1},
		"policy":                        {Fail(&session.ProviderError{Class: session.ProviderContentPolicy}), 1},
		"grammar":                       {Events(session.ModelEvent{Type: "surprise"}), 1},
		"after some text":               {failing(overloaded(), Delta("Half")), 1},
		"after some thought":            {failing(overloaded(), session.ModelEvent{Type: session.EventReasoningDelta, ID: "r", Text: "Hm"}), 1},
		"after a call began":            {failing(overloaded(), callOf("c", "echo", "")[0]), 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, w *World, id string) {
				w.Provider.Script(test.turn, Say("Better"))
				w.Prompt(id, "Hi", session.Steer)
				idle(w, id)
				if n := len(w.Provider.Requests()); n != test.requests {
					t.Errorf("%d requests, want %d", n, test.requests)
				}
				want := map[int]session.Outcome{1: session.Failed, 2: session.Completed}[test.requests]
				if got := ended(w, id); got.Outcome != want {
					t.Errorf("ended %+v, want %s", got, want)
				}
				only(t, assistants(w, id))
			})
		})
	}
}

func TestRetriesBackOffAndGiveUp(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *World, id string) {
		began := time.Now()
		for range 6 {
			w.Provider.Script(Fail(overloaded()))
		}
		w.Prompt(id, "Hi", session.Steer)
		idle(w, id)
		if n := len(w.Provider.Requests()); n != 5 {
			t.Errorf("%d requests, want one and 4 retries", n)
		}
		var total time.Duration
		for i, wait := range retryWaits(w, id) {
			if longest := time.Second << i; wait > longest || wait < longest*3/4-time.Millisecond {
				t.Errorf("retry %d waits %v, want %v or up to a quarter less", i+1, wait, longest)
			}
			total += wait
		}
		if passed := time.Since(began).Truncate(time.Millisecond); passed < total || passed > total+10*time.Millisecond {
			t.Errorf("%v passed, want the waits, which are %v", passed, total)
		}
		if got := ended(w, id); got.Outcome != session.Failed || code(got.Error) != session.ProviderOverloaded {
			t.Errorf("ended %+v", got)
		}
		if got := only(t, assistants(w, id)); len(got.Retries) != 4 || code(got.Error) != session.ProviderOverloaded {
			t.Errorf("answer %+v", got)
		}
	})
}

// A long row of retries stops growing.
func TestTheLongestWait(t *testing.T) {
	bubble(t, Options{Config: configured(func(c *runner.Config) { c.Retries = 7 })}, func(t *testing.T, w *World, id string) {
		for range 8 {
			w.Provider.Script(Fail(overloaded()))
		}
		w.Prompt(id, "Hi", session.Steer)
		idle(w, id)
		waits := retryWaits(w, id)
		if last := waits[len(waits)-1]; len(waits) != 7 || last > 30*time.Second || last < 22*time.Second {
			t.Errorf("waits %v", waits)
		}
	})
}

func TestTheProviderSaysWhenToTryAgain(t *testing.T) {
	for name, test := range map[string]struct {
		after    time.Duration
		requests int
	}{
		"soon":            {7 * time.Second, 2},
		"just acceptable": {15 * time.Minute, 2},
		"too late":        {15*time.Minute + time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, w *World, id string) {
				began := time.Now()
				w.Provider.Script(Fail(&session.ProviderError{Class: session.ProviderRateLimit, RetryAfter: test.after}), Say("Better"))
				w.Prompt(id, "Hi", session.Steer)
				idle(w, id)
				if n := len(w.Provider.Requests()); n != test.requests {
					t.Errorf("%d requests, want %d", n, test.requests)
				}
				if test.requests == 1 {
					if got := ended(w, id); code(got.Error) != session.ProviderRateLimit {
						t.Errorf("ended %+v", got)
					}
					return
				}
				if wait := only(t, retryWaits(w, id)); wait != test.after || time.Since(began) != test.after {
					t.Errorf("waits %v, and %v passed; want %v", wait, time.Since(began), test.after)
				}
			})
		})
	}
}

func TestRetriesArePartsOfTheAnswer(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *World, id string) {
		w.Provider.Script(Fail(overloaded()), Fail(&session.ProviderError{Class: session.ProviderTransport, Message: "reset"}), Say("Hello"))
		w.Prompt(id, "Hi", session.Steer)
		idle(w, id)
		var got []string
		for _, part := range only(t, assistants(w, id)).Timeline() {
			text := part.Type + part.Text
			if part.Retry != nil {
				text += " " + part.Retry.Error.Code
			}
			got = append(got, text)
		}
		want := []string{"step_start", "retry overloaded", "retry transport", "textHello", "step_finish"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		turns := payloads[session.TurnStarted](w, id)
		for i, turn := range turns {
			if turn.Attempt != i+1 || turn.Turn != 1 || turn.Digest != turns[0].Digest || len(turns) != 3 {
				t.Errorf("attempt %d of %d: %+v", i+1, len(turns), turn)
			}
		}
		if diff := cmp.Diff(w.Provider.Requests()[0], w.Provider.Requests()[2]); diff != "" {
			t.Errorf("the request changed: %s", diff)
		}
		// The next turn begins without them.
		w.Provider.Script(Say("Again"))
		w.Run(id)
		if got := assistants(w, id)[1]; len(got.Retries) != 0 {
			t.Errorf("the next answer has %+v", got.Retries)
		}
	})
}

func TestAnInterruptEndsTheWait(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *World, id string) {
		w.Provider.Script(Fail(&session.ProviderError{Class: session.ProviderRateLimit, RetryAfter: time.Minute}), Say("Later"))
		w.Prompt(id, "Hi", session.Steer)
		synctest.Wait()
		began := time.Now()
		interrupt(w, id)
		idle(w, id)
		if got := ended(w, id); got.Outcome != session.Interrupted || time.Since(began) != 0 {
			t.Errorf("ended %+v after %v", got, time.Since(began))
		}
		only(t, w.Provider.Requests())
		if got := assistants(w, id); len(got) != 0 {
			t.Errorf("answers %+v", got)
		}
		w.Run(id)
	})
}

func TestAShutdownParksTheWait(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *World, id string) {
		w.Provider.Script(Fail(&session.ProviderError{Class: session.ProviderRateLimit, RetryAfter: time.Minute}))
		w.Prompt(id, "Hi", session.Steer)
		synctest.Wait()
		began := time.Now()
		w.Coordinator.Close(time.Hour)
		if passed := time.Since(began); passed != 0 {
			t.Errorf("the shutdown took %v", passed)
		}
		if got := only(t, payloads[session.ActivitySuspended](w, id)); got.Reason != session.SuspendedByShutdown {
			t.Errorf("suspended %+v", got)
		}
		if again, err := w.Runner.Recover(t.Context(), id); err != nil || !again {
			t.Errorf("goes on by itself: %v, %v", again, err)
		}
	})
}
