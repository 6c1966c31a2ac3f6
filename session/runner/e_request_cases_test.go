package runner_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// What a request is made of, and whose.
func TestRequestCases(t *testing.T) {
	Cases(t, "E", []Case{
		{Number: 94, Text: "A woken session with one pending steer makes one provider request, which holds the baseline of the context, " +
			"the prompt and the definitions of the registered tools.", Run: e94},
		{Number: 95, Text: "A wake of a session with nothing pending makes no request and records nothing; a resume makes exactly one request.", Run: e95},
		{Number: 97, Text: "A turn that was prepared for a place which the session has left meanwhile is not sent.",
			Ours: "The log refuses the turn, and the same drain makes it anew at the destination: a drain belongs to a session and not to a place.", Run: e97},
		{Number: 98, Text: "The system text is that of the agent, then the baseline of the context; what is empty is left out.",
			Ours: "The agent's text is the first part of the baseline, so that it stays the same until the epoch ends.", Run: e98},
		{Number: 100, Text: "A session that is switched to another agent while its context is sampled finishes the turn as the agent it " +
			"began with; the next turn is the other one's.", Run: e100},
		{Number: 101, Text: "A session that is switched to another model while the first one is looked up makes this request with the first.", Run: e101},
		{Number: 103, Text: "A model that is chosen while tools run answers the continuation of the same activity.", Run: e103},
		{Number: 143, Text: "The prompt cache key is stable over a session and never longer than 64 bytes.",
			Ours: "It is the session's id always: an id has 34 bytes, and a longer one is refused when the session is created.", Run: e143},
	})
}

func e94(t *testing.T) {
	w := New(t, Options{})
	var date atomic.Value
	date.Store("Monday")
	w.Contribute("core/env", source(w, "core/date", &date))
	w.Contribute("core/tools", echo(w))
	w.Provider.Script(Say("Hello"))
	id := w.Create()
	w.Prompt(id, "Hi", session.Steer)
	w.Settled(id, 1)
	request := only(t, w.Provider.Requests())
	if diff := cmp.Diff([]session.TextPart{{ID: "baseline", Text: "core/date is Monday"}}, request.System); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Hi"}, texts(request, session.RoleUser)); diff != "" || len(request.Messages) != 1 {
		t.Errorf("messages %+v: %s", request.Messages, diff)
	}
	if len(request.Tools) != 1 || request.Tools[0].Name != "echo" || string(request.Tools[0].Input) != `{"type":"object"}` || request.ToolChoice != "auto" {
		t.Errorf("tools %+v, choice %q", request.Tools, request.ToolChoice)
	}
}

func e95(t *testing.T) {
	w := New(t, Options{})
	id := w.Create()
	w.Coordinator.Wake(id, 0)
	idle(w, id)
	if diff := cmp.Diff([]string{"session.created"}, types(w, id, "", 0)); diff != "" {
		t.Error(diff)
	}
	w.Provider.Script(Say("Hello"), Say("too many"))
	w.Run(id)
	only(t, w.Provider.Requests())
}

func e97(t *testing.T) {
	w := New(t, Options{})
	id := w.Create()
	var seen []string
	w.Contribute("core/env", w.Kinds.Contexts.Contribute("core/where", 0, Source{Names: []string{"core/where"},
		Run: func(_ context.Context, o session.Observation) ([]session.SourceState, error) {
			seen = append(seen, o.Location.Directory)
			if len(seen) == 1 {
				put(w, id, session.Moved{Location: session.Location{Directory: "/there", Root: "/there"}})
			}
			return []session.SourceState{{Key: "core/where", State: session.SourceValue, Value: raw(`"x"`), Baseline: "at " + o.Location.Directory}}, nil
		}}))
	w.Provider.Script(Say("Here I am"), Say("too many"))
	w.Prompt(id, "Where are you?", session.Steer)
	w.Settled(id, 1)
	if diff := cmp.Diff([]string{"/work", "/there"}, seen); diff != "" {
		t.Error(diff)
	}
	if got := only(t, w.Provider.Requests()).System[0].Text; got != "at /there" {
		t.Errorf("the request's context is %q", got)
	}
	if turn := only(t, payloads[session.TurnStarted](w, id)); turn.Location != "/there" {
		t.Errorf("turn %+v", turn)
	}
	if got := w.Runner.ContextCounts(); got.Contended != 1 || got.Baselines != 1 {
		t.Errorf("counted %+v", got)
	}
	if ended := ended(w, id); ended.Outcome != session.Completed {
		t.Errorf("ended %+v", ended)
	}
}

func e98(t *testing.T) {
	for name, test := range map[string]struct {
		agent, baseline string
		want            []string
	}{
		"both":     {"You build.", "Monday", []string{"You build.\n\ncore/date is Monday"}},
		"agent":    {"You build.", "", []string{"You build."}},
		"baseline": {"", "Monday", []string{"core/date is Monday"}},
		"neither":  {"", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{Agents: builder(func(a *session.Agent) { a.System = test.agent })})
			if test.baseline != "" {
				var date atomic.Value
				date.Store(test.baseline)
				w.Contribute("core/env", source(w, "core/date", &date))
			}
			w.Provider.Script(Say("Hello"))
			id := w.Create()
			w.Prompt(id, "Hi", session.Steer)
			w.Settled(id, 1)
			var got []string
			for _, part := range only(t, w.Provider.Requests()).System {
				got = append(got, part.Text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func e100(t *testing.T) {
	w := New(t, Options{Agents: append(builder(func(a *session.Agent) { a.System = "You build." }),
		session.Agent{Name: "other", Mode: session.AgentPrimary, System: "You are another."})})
	id := w.Create()
	var once sync.Once
	w.Contribute("core/env", w.Kinds.Contexts.Contribute("core/x", 0, Source{Names: []string{"core/x"},
		Run: func(context.Context, session.Observation) ([]session.SourceState, error) {
			once.Do(func() { put(w, id, session.AgentSwitched{Message: message(w), Agent: "other"}) })
			return []session.SourceState{{Key: "core/x", State: session.SourceValue, Value: raw(`1`), Baseline: "x"}}, nil
		}}))
	w.Contribute("core/tools", echo(w))
	w.Provider.Script(Calls("echo", `{}`), Say("Done"))
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	var got []string
	for i, turn := range payloads[session.TurnStarted](w, id) {
		got = append(got, turn.Agent+" "+w.Provider.Requests()[i].Agent+" "+assistants(w, id)[i].Agent+" "+w.Provider.Requests()[i].System[0].Text)
	}
	if diff := cmp.Diff([]string{"build build build You build.\n\nx", "other other other You build.\n\nx"}, got); diff != "" {
		t.Error(diff)
	}
	if got := lastTexts(w)[1]; !strings.HasSuffix(got, "You are another.") {
		t.Errorf("the other one is told %q", got)
	}
}

func e101(t *testing.T) {
	w := New(t, Options{})
	w.Contribute("core/tools", echo(w))
	w.Provider.Script(Calls("echo", `{}`), Say("Done"))
	id := w.Create()
	w.Admit(id, "Go", session.Steer)
	put(w, id, session.ResumeRequested{})
	var once sync.Once
	err := drainWith(w, id, runner.DefaultConfig(), func(services *runner.Services) {
		services.Models = modelsFunc(func(ref session.ModelRef) (session.ModelInfo, error) {
			once.Do(func() {
				put(w, id, session.ModelSwitched{Message: message(w), Model: session.ModelRef{Provider: "scripted", Model: "m2"}})
			})
			return session.ModelInfo{Ref: ref}, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	models(t, w, id)
}

// models holds the session to two turns, the second one with another model.
func models(t *testing.T, w *World, id string) {
	t.Helper()
	var got []string
	for i, turn := range payloads[session.TurnStarted](w, id) {
		got = append(got, turn.Model.Model+" "+w.Provider.Requests()[i].Model.Model+" "+assistants(w, id)[i].Model.Model)
	}
	if diff := cmp.Diff([]string{"m1 m1 m1", "m2 m2 m2"}, got); diff != "" {
		t.Error(diff)
	}
}

func e103(t *testing.T) {
	w := New(t, Options{})
	id := w.Create()
	w.Contribute("core/tools", tool(w, "switch", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
		put(w, id, session.ModelSwitched{Message: message(w), Model: session.ModelRef{Provider: "scripted", Model: "m2"}})
		return Output("switched"), nil
	}))
	w.Provider.Script(Calls("switch", `{}`), Say("Done"))
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	models(t, w, id)
	only(t, payloads[session.ActivityStarted](w, id))
}

func e143(t *testing.T) {
	w := New(t, Options{})
	w.Provider.Script(Say("One"), Say("Two"))
	id := w.Create()
	for n := range 2 {
		w.Prompt(id, "Hi", session.Steer)
		w.Settled(id, n+1)
		if key := w.Provider.Requests()[n].CacheKey; key != id || len(key) != 34 {
			t.Errorf("request %d has the cache key %q", n, key)
		}
	}
	long := session.CreateRequest{ID: "ses_" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", Directory: "/work"}
	if _, _, err := w.Sessions.Create(t.Context(), session.System(), long); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("a longer id: %v", err)
	}
}
