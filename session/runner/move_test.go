package runner_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

func moved(w *World, id, directory string) {
	w.T.Helper()
	put(w, id, session.Moved{Location: session.Location{Directory: directory, Root: directory}})
}

// A turn that runs goes on where it began; the next one works at the destination, with
// the tools and a context of its own.
func TestASessionMovesWhileATurnRuns(t *testing.T) {
	w := New(t, Options{})
	id := w.Create()
	w.Contribute("core/env", w.Kinds.Contexts.Contribute("core/where", 0, Source{Names: []string{"core/where"},
		Run: func(_ context.Context, o session.Observation) ([]session.SourceState, error) {
			return []session.SourceState{{Key: "core/where", State: session.SourceValue, Value: raw(`"` + o.Location.Directory + `"`),
				Baseline: "at " + o.Location.Directory}}, nil
		}}))
	var worked []string
	w.Contribute("core/tools", w.Kinds.Tools.Contribute("work", 0, session.Tool(Tool{Define: session.ToolDefinition{Name: "work"},
		Run: func(_ context.Context, call session.ToolCall) (session.ToolOutput, error) {
			worked = append(worked, call.Location.Directory)
			return Output("ok"), nil
		}})))
	there := registry.Scope{ID: "local", Location: "/there", Contributions: []registry.Contribution{echo(w)}}
	if _, err := w.Registries.Replace(there); err != nil {
		t.Fatal(err)
	}
	w.Provider.Script(func(ctx context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		moved(w, id, "/there")
		Calls("work", `{"n":1}`)(ctx, request, yield)
	}, Calls("work", `{"n":2}`), Say("Done"))
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	if got := ended(w, id); got.Outcome != session.Completed {
		t.Fatalf("ended %+v", got)
	}
	if diff := cmp.Diff([]string{"/work", "/there"}, worked); diff != "" {
		t.Error(diff)
	}
	var turns, offered []string
	for i, request := range w.Provider.Requests() {
		turn := payloads[session.TurnStarted](w, id)[i]
		turns = append(turns, turn.Location+" "+request.System[0].Text)
		offered = append(offered, names(request)...)
	}
	if diff := cmp.Diff([]string{"/work at /work", "/there at /there", "/there at /there"}, turns); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"work", "echo", "work", "echo", "work"}, offered); diff != "" {
		t.Error(diff)
	}
	if n := len(payloads[session.ContextInitialized](w, id)); n != 2 {
		t.Errorf("%d context epochs began, want 2", n)
	}
}

// A request that waits to be tried again is not made for a place the session has left.
func TestASessionMovesWhileARetryWaits(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *World, id string) {
		w.Provider.Script(Fail(&session.ProviderError{Class: session.ProviderRateLimit, RetryAfter: time.Minute}), Say("Done"))
		w.Prompt(id, "Go", session.Steer)
		synctest.Wait()
		moved(w, id, "/there")
		idle(w, id)
		if got := ended(w, id); got.Outcome != session.Completed {
			t.Errorf("ended %+v", got)
		}
		var turns []string
		for _, turn := range payloads[session.TurnStarted](w, id) {
			turns = append(turns, turn.Location)
		}
		if diff := cmp.Diff([]string{"/work", "/there"}, turns); diff != "" || len(w.Provider.Requests()) != 2 {
			t.Errorf("%d requests: %s", len(w.Provider.Requests()), diff)
		}
	})
}

// Agent and model that are switched while a turn runs are the next one's.
func TestSwitchesWhileATurnRuns(t *testing.T) {
	w := New(t, Options{Agents: append(builder(func(a *session.Agent) { a.System = "You build." }),
		session.Agent{Name: "other", Mode: session.AgentPrimary, System: "You are another.", Rules: []session.Rule{{Action: "echo", Resource: "*", Effect: session.Deny}}})})
	id := w.Create()
	w.Contribute("core/tools", echo(w))
	w.Provider.Script(func(ctx context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		put(w, id, session.AgentSwitched{Message: message(w), Agent: "other"},
			session.ModelSwitched{Message: message(w), Model: session.ModelRef{Provider: "scripted", Model: "m2"}})
		Calls("echo", `{}`)(ctx, request, yield)
	}, Say("Done"))
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	var got []string
	for i, request := range w.Provider.Requests() {
		step := assistants(w, id)[i]
		got = append(got, step.Agent+" "+step.Model.Model+" "+request.System[0].Text)
	}
	if diff := cmp.Diff([]string{"build m1 You build.", "other m2 You build."}, got); diff != "" {
		t.Error(diff)
	}
	if n := len(payloads[session.ToolSucceeded](w, id)); n != 1 {
		t.Errorf("%d calls succeeded, want that of the first agent", n)
	}
	if got := w.Provider.Requests()[1].Messages; len(got) != 4 || !strings.HasSuffix(got[3].Parts[0].Text, "You are another.") {
		t.Errorf("of the switches the model is told %+v", got)
	}
	if n := len(payloads[session.ContextInitialized](w, id)) + len(payloads[session.ContextReplaced](w, id)); n != 1 {
		t.Errorf("%d context epochs began, want 1", n)
	}
}
