package runner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	. "github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// silent is a turn that yields the events, then nothing for a while.
func silent(quiet time.Duration, events ...session.ModelEvent) Turn {
	return Then(Events(events...), func(ctx context.Context, _ session.ModelRequest, _ func(session.ModelEvent, error) bool) {
		select {
		case <-time.After(quiet):
		case <-ctx.Done():
		}
	})
}

func TestASilentProviderIsLeft(t *testing.T) {
	limits := Models{"scripted/slow": {ModelInfo: session.ModelInfo{FirstEvent: 10 * time.Minute, Idle: 20 * time.Minute}}}
	say := answering(Delta(" there"))
	for name, test := range map[string]struct {
		model    string
		turn     Turn
		after    time.Duration // when the first request is left, 0 for never
		requests int
	}{
		"before output":             {"m1", silent(time.Hour), time.Minute, 2},
		"just in time":              {"m1", Then(silent(59*time.Second), say), 0, 1},
		"after output":              {"m1", silent(time.Hour, Delta("Hi")), 2 * time.Minute, 1},
		"just in time after output": {"m1", Then(silent(119*time.Second, Delta("Hi")), say), 0, 1},
		"again and again in time":   {"m1", Then(silent(100*time.Second, Delta("Hi")), Then(silent(100*time.Second, Delta(" you")), say)), 0, 1},
		"a model that thinks":       {"slow", Then(silent(9*time.Minute), say), 0, 1},
		"for longer than it may":    {"slow", silent(time.Hour), 10 * time.Minute, 2},
		"and then stops":            {"slow", silent(time.Hour, Delta("Hi")), 20 * time.Minute, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{Models: limits}, func(t *testing.T, w *World, id string) {
				began := time.Now()
				var left time.Duration
				w.Provider.Script(func(ctx context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool) {
					test.turn(ctx, request, yield)
					if ctx.Err() != nil {
						left = time.Since(began)
					}
				}, Say("Better"))
				ask(w, id, session.Prompt{Text: "Hi", Model: &session.ModelRef{Provider: "scripted", Model: test.model}})
				idle(w, id)
				if left != test.after || len(w.Provider.Requests()) != test.requests {
					t.Errorf("left after %v with %d requests, want %v and %d", left, len(w.Provider.Requests()), test.after, test.requests)
				}
				outcome := session.Completed
				if test.after > 0 && test.requests == 1 {
					outcome = session.Failed
				}
				if got := ended(w, id); got.Outcome != outcome {
					t.Errorf("ended %+v", got)
				}
			})
		})
	}
}

// What arrived before the silence is kept, with the calls that were made.
func TestSilenceSettlesWhatArrived(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *World, id string) {
		w.Contribute("core/tools", echo(w))
		open := callOf("d", "echo", `{"b`)[:2]
		w.Provider.Script(silent(time.Hour, append(append([]session.ModelEvent{Delta("Look")}, callOf("c", "echo", `{}`)...), open...)...))
		w.Prompt(id, "Hi", session.Steer)
		idle(w, id)
		step := only(t, assistants(w, id))
		var got []string
		for _, part := range step.Parts {
			text := part.Type + " " + part.Text
			if part.Tool != nil {
				text += string(part.Tool.State)
			}
			got = append(got, text)
		}
		if diff := cmp.Diff([]string{"text Look", "tool completed", "tool failed"}, got); diff != "" {
			t.Error(diff)
		}
		want := session.Failure{Code: session.ProviderTransport, Retryable: true,
			Message: "The provider scripted was silent for 2m0s; if its model needs longer, raise first_event_ms or idle_ms"}
		if diff := cmp.Diff(&want, step.Error); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(&want, ended(w, id).Error); diff != "" {
			t.Error(diff)
		}
	})
}

// slowLog takes its time for calls.
type slowLog struct {
	store.Log
	delay time.Duration
}

func (l slowLog) Append(ctx context.Context, batch store.Batch) ([]store.Event, error) {
	for _, event := range batch.Events {
		if event.Type == (session.ToolCalled{}).EventType() {
			time.Sleep(l.delay)
		}
	}
	return l.Log.Append(ctx, batch)
}

// The time that the host needs to record is not the provider's silence.
func TestTheClockStandsStillWhileTheHostWorks(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *World, id string) {
		w.Contribute("core/tools", echo(w))
		w.Provider.Script(answering(callOf("c", "echo", `{}`)...), Say("Done"))
		w.Admit(id, "Hi", session.Steer)
		put(w, id, session.ResumeRequested{})
		began := time.Now()
		err := drainWith(w, id, configured(func(c *runner.Config) { c.Idle = time.Second }), func(services *runner.Services) {
			services.Log = slowLog{Log: w.Log, delay: time.Hour}
		})
		if err != nil || time.Since(began) < time.Hour {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if got := ended(w, id); got.Outcome != session.Completed {
			t.Errorf("ended %+v", got)
		}
	})
}

// A tool may work for longer than a provider may be silent.
func TestToolsAreNotWatched(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *World, id string) {
		release := make(chan struct{})
		running := make(chan struct{}, 1)
		blocking(w, "slow", running, release)
		w.Provider.Script(Calls("slow", `{}`), Say("Done"))
		w.Prompt(id, "Go", session.Steer)
		synctest.Wait()
		time.Sleep(time.Hour)
		close(release)
		idle(w, id)
		if got := ended(w, id); got.Outcome != session.Completed {
			t.Errorf("ended %+v", got)
		}
	})
}

func TestAProviderThatPanicsHasFailed(t *testing.T) {
	w := New(t, Options{})
	w.Provider.Script(Then(Events(Delta("Half")), func(context.Context, session.ModelRequest, func(session.ModelEvent, error) bool) {
		panic("broken")
	}), Say("Whole"))
	id := w.Create()
	w.Prompt(id, "Hi", session.Steer)
	ended := outcome(t, w, id, 1)
	if ended.Outcome != session.Failed || ended.Error == nil || ended.Error.Code != session.ProviderUnknown {
		t.Fatalf("ended %+v", ended)
	}
	if parts := w.Messages(id)[1].Parts; len(parts) != 1 || parts[0].Text != "Half" {
		t.Errorf("parts %+v", parts)
	}
	w.Run(id)
}
