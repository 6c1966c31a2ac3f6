package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a tool that answers its input.
func echo(w *World) registry.Contribution {
	return tool(w, "echo", func(_ context.Context, call session.ToolCall) (session.ToolOutput, error) {
		return Output("echo " + string(call.Input)), nil
	})
}

func tool(w *World, name string, run func(context.Context, session.ToolCall) (session.ToolOutput, error)) registry.Contribution {
	return w.Kinds.Tools.Contribute(name, 0, Tool{Define: session.ToolDefinition{Name: name, Description: "a tool",
		Input: json.RawMessage(`{"type":"object"}`), Permission: session.ToolPermission{Action: name, Resource: "path"}}, Run: run})
}

func source(w *World, name string, value *atomic.Value) registry.Contribution {
	return w.Kinds.Contexts.Contribute(name, 0, Source{Names: []string{name}, Run: func(context.Context, session.Observation) ([]session.SourceState, error) {
		v, _ := value.Load().(string)
		state := session.SourceState{Key: name, State: session.SourceValue, Value: json.RawMessage(fmt.Sprintf("%q", v)),
			Baseline: name + " is " + v, Update: name + " is now " + v, Removed: name + " is gone"}
		if v == "" {
			state = session.SourceState{Key: name, State: session.SourceUnavailable}
		}
		return []session.SourceState{state}, nil
	}})
}

func outcome(t *testing.T, w *World, id string, n int) session.ActivityEnded {
	t.Helper()
	events := w.Settled(id, n)
	var ended session.ActivityEnded
	if err := json.Unmarshal(events[len(events)-1].Data, &ended); err != nil {
		t.Fatal(err)
	}
	return ended
}

func TestGoldenStreams(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, w *World, id string)
	}{
		{"simple", func(t *testing.T, w *World, id string) {
			w.Provider.Script(Say("Hello"))
			w.Prompt(id, "Hi", session.Steer)
			w.Settled(id, 1)
		}},
		{"two-tools", func(t *testing.T, w *World, id string) {
			w.Contribute("core/tools", echo(w))
			w.Provider.Script(Calls("echo", `{"a":1}`), Calls("echo", `[1]`), Say("Done"))
			w.Prompt(id, "Use the tools", session.Steer)
			w.Settled(id, 1)
		}},
		{"context-update", func(t *testing.T, w *World, id string) {
			var date atomic.Value
			date.Store("Monday")
			w.Contribute("core/env", source(w, "core/date", &date))
			w.Provider.Script(Say("One"), Say("Two"), Say("Three"))
			w.Prompt(id, "first", session.Steer)
			w.Settled(id, 1)
			date.Store("Tuesday")
			w.Prompt(id, "second", session.Steer)
			w.Settled(id, 2)
			w.Registries.Remove("core/env", "")
			w.Prompt(id, "third", session.Steer)
			w.Settled(id, 3)
		}},
		{"provider-error", func(t *testing.T, w *World, id string) {
			w.Provider.Script(Then(Events(Delta("Half an ans")), Fail(&session.ProviderError{Class: session.ProviderRateLimit, Status: 429,
				Message: "slow down", Retryable: true})))
			w.Prompt(id, "Hi", session.Steer)
			w.Settled(id, 1)
		}},
		{"tool-failures", func(t *testing.T, w *World, id string) {
			w.Contribute("core/tools", echo(w),
				tool(w, "told", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
					return session.ToolOutput{}, &session.ToolError{Kind: "not_found", Message: "no such thing"}
				}),
				tool(w, "broken", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
					return session.ToolOutput{}, errors.New("secret detail")
				}))
			w.Provider.Script(Calls("told", `{}`), Calls("broken", `{}`), Calls("nobody", `{}`), Calls("echo", `{"cut`), Say("Well"))
			w.Prompt(id, "Try", session.Steer)
			w.Settled(id, 1)
		}},
		{"reasoning-and-interleaved-text", func(t *testing.T, w *World, id string) {
			w.Provider.Script(Events(
				session.ModelEvent{Type: session.EventReasoningDelta, ID: "r", Text: "Let me "},
				session.ModelEvent{Type: session.EventReasoningDelta, ID: "r", Text: "think"},
				session.ModelEvent{Type: session.EventReasoningEnd, ID: "r", Metadata: json.RawMessage(`{"sig":"x"}`)},
				session.ModelEvent{Type: session.EventTextDelta, ID: "a", Text: "A1"},
				session.ModelEvent{Type: session.EventTextDelta, ID: "b", Text: "B1"},
				session.ModelEvent{Type: session.EventTextDelta, ID: "a", Text: "A2"},
				Finish(session.FinishStop)))
			w.Prompt(id, "Hi", session.Steer)
			w.Settled(id, 1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := New(t, Options{})
			id := w.Create()
			c.run(t, w, id)
			page, err := w.Log.Read(t.Context(), id, -1, 1000)
			if err != nil {
				t.Fatal(err)
			}
			Golden(t, c.name, Text(page.Events))
		})
	}
}

func TestContinuationReloadsTheResultFromTheStore(t *testing.T) {
	w := New(t, Options{})
	w.Contribute("core/tools", echo(w))
	w.Provider.Script(Calls("echo", `{"a":1}`), Say("Done"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	requests := w.Provider.Requests()
	if len(requests) != 2 {
		t.Fatalf("%d requests, want 2", len(requests))
	}
	got := requests[1].Messages
	if len(got) != 3 || got[1].Parts[0].Call != "call-0" || got[2].Parts[0].Text != `echo {"a":1}` {
		t.Errorf("second request: %+v", got)
	}
	if requests[0].CacheKey != id || len(requests[0].Tools) != 1 {
		t.Errorf("first request: %+v", requests[0])
	}
}

func TestParallelToolsStartBeforeTheStreamEndsAndAllSettleBeforeTheNextTurn(t *testing.T) {
	w := New(t, Options{})
	var running atomic.Int32
	both := make(chan struct{})
	w.Contribute("core/tools", tool(w, "wait", func(ctx context.Context, _ session.ToolCall) (session.ToolOutput, error) {
		if running.Add(1) == 2 {
			close(both)
		}
		<-both
		return Output("ok"), nil
	}))
	stream := func(ctx context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		for _, id := range []string{"x", "y"} {
			yield(session.ModelEvent{Type: session.EventToolStart, ID: id, Name: "wait"}, nil)
			yield(session.ModelEvent{Type: session.EventToolEnd, ID: id}, nil)
		}
		<-both // the tools run while the stream is still open
		yield(Finish(session.FinishToolCalls), nil)
	}
	w.Provider.Script(stream, Say("Done"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	if ended := outcome(t, w, id, 1); ended.Outcome != session.Completed {
		t.Fatalf("outcome %+v", ended)
	}
}

func TestParallelToolsAreBounded(t *testing.T) {
	config := runner.DefaultConfig()
	config.MaxParallelTools = 2
	w := New(t, Options{Config: config})
	var running, most atomic.Int32
	var once sync.Once
	full, release := make(chan struct{}), make(chan struct{})
	w.Contribute("core/tools", tool(w, "busy", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
		now := running.Add(1)
		defer running.Add(-1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		if now == 2 {
			once.Do(func() { close(full) })
		}
		<-release
		return Output("ok"), nil
	}))
	calls := Calls("busy", `{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":4}`, `{"n":5}`, `{"n":6}`, `{"n":7}`, `{"n":8}`)
	w.Provider.Script(func(ctx context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		go func() { <-full; close(release) }()
		calls(ctx, request, yield)
	}, Say("Done"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	if got := most.Load(); got != 2 {
		t.Errorf("%d tools ran at once, want 2", got)
	}
}

func TestSteersJoinAtTheNextBoundaryAndQueuedPromptsWait(t *testing.T) {
	w := New(t, Options{})
	reached, open := make(chan struct{}), make(chan struct{})
	w.Provider.Script(Then(Gate(reached, open), Say("One")), Say("Two"), Say("Three"), Say("Four"))
	id := w.Create()
	w.Prompt(id, "first", session.Steer)
	<-reached
	w.Prompt(id, "queued A", session.Queue)
	w.Prompt(id, "steer", session.Steer)
	w.Prompt(id, "queued B", session.Queue)
	close(open)
	w.Settled(id, 3)
	var users []string
	for _, request := range w.Provider.Requests() {
		last := request.Messages[len(request.Messages)-1]
		users = append(users, last.Parts[0].Text)
	}
	if diff := cmp.Diff([]string{"first", "steer", "queued A", "queued B"}, users); diff != "" {
		t.Error(diff)
	}
}

func TestAnAdmissionAfterTheBoundaryWaitsForTheNext(t *testing.T) {
	w := New(t, Options{})
	id := w.Create()
	w.Admit(id, "one", session.Steer)
	w.Admit(id, "two", session.Steer)
	w.Provider.Script(func(ctx context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		if len(request.Messages) != 2 {
			t.Errorf("the first request has %d messages, want the two admitted before", len(request.Messages))
		}
		w.Admit(id, "three", session.Steer)
		Say("ok")(ctx, request, yield)
	}, Say("again"))
	w.Run(id)
	if n := len(w.Provider.Requests()); n != 2 {
		t.Errorf("%d requests, want 2: the late steer joins at the next boundary", n)
	}
}

func TestAWakeWithoutEligibleInputDoesNothing(t *testing.T) {
	w := New(t, Options{})
	id := w.Create()
	w.Admit(id, "not yet", session.Steer)
	if err := w.Runner.Drain(t.Context(), &session.Work{Session: id}); err != nil {
		t.Fatal(err)
	}
	if n := len(w.Provider.Requests()); n != 0 {
		t.Fatalf("%d requests, want none", n)
	}
	w.Provider.Script(Say("ok"))
	w.Run(id)
	if n := len(w.Provider.Requests()); n != 1 {
		t.Fatalf("%d requests, want one", n)
	}
}

func TestBlockedContextKeepsThePromptPending(t *testing.T) {
	w := New(t, Options{})
	var date atomic.Value
	w.Contribute("core/env", source(w, "core/date", &date))
	w.Provider.Script(Say("ok"))
	id := w.Create()
	w.Prompt(id, "Hi", session.Steer)
	if ended := outcome(t, w, id, 1); ended.Error == nil || ended.Error.Code != session.FailureContextBlocked {
		t.Fatalf("ended %+v", ended)
	}
	pending, err := w.Sessions.Inbox(t.Context(), id)
	if err != nil || len(pending) != 1 {
		t.Fatalf("pending %v, %v", pending, err)
	}
	date.Store("Monday")
	w.Run(id)
	if got := w.Provider.Requests()[0]; got.System[0].Text != "core/date is Monday" || len(got.Messages) != 1 {
		t.Errorf("request %+v", got)
	}
}

// TestInterruptedToolSaysWhatItDid: what a tool answers to an interrupt reaches the
// model, behind that it was interrupted; what it did not mean for the model does not.
func TestInterruptedToolSaysWhatItDid(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"words", &session.ToolError{Kind: "cancelled", Message: "copied a.txt, not b.txt"}, "Tool execution interrupted; it ended with: copied a.txt, not b.txt"},
		{"another kind", &session.ToolError{Kind: "failed", Message: "the disk is full"}, "Tool execution interrupted; it ended with: the disk is full"},
		{"no words", &session.ToolError{Kind: "failed"}, "Tool execution interrupted"},
		{"its own fault", errors.New("0xdead"), "Tool execution interrupted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := New(t, Options{})
			started := make(chan struct{})
			w.Contribute("core/tools", tool(w, "copy", func(ctx context.Context, _ session.ToolCall) (session.ToolOutput, error) {
				close(started)
				<-ctx.Done()
				return session.ToolOutput{}, c.err
			}))
			w.Provider.Script(Calls("copy", `{}`))
			id := w.Create()
			w.Prompt(id, "Go", session.Steer)
			<-started
			if _, err := w.Sessions.Interrupt(t.Context(), session.System(), id); err != nil {
				t.Fatal(err)
			}
			outcome(t, w, id, 1)
			if part := w.Messages(id)[1].Parts[0].Tool; *part.Error != (session.ToolError{Kind: "cancelled", Message: c.want}) {
				t.Errorf("the model is told %+v", part.Error)
			}
		})
	}
}

func TestInterruptDuringATool(t *testing.T) {
	w := New(t, Options{})
	started := make(chan struct{})
	w.Contribute("core/tools", tool(w, "hang", func(ctx context.Context, _ session.ToolCall) (session.ToolOutput, error) {
		close(started)
		<-ctx.Done()
		return session.ToolOutput{}, ctx.Err()
	}))
	w.Provider.Script(Calls("hang", `{}`))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	<-started
	w.Admit(id, "later", session.Steer)
	if _, err := w.Sessions.Interrupt(t.Context(), session.System(), id); err != nil {
		t.Fatal(err)
	}
	if ended := outcome(t, w, id, 1); ended.Outcome != session.Interrupted {
		t.Fatalf("ended %+v", ended)
	}
	assistant := w.Messages(id)[1]
	if part := assistant.Parts[0].Tool; part.State != session.ToolStateFailed || part.Error.Message != "Tool execution interrupted" {
		t.Errorf("tool %+v", part)
	}
	if assistant.Error == nil || assistant.Error.Message != "Provider turn interrupted" || assistant.Completed == 0 {
		t.Errorf("assistant %+v", assistant)
	}
	pending, err := w.Sessions.Inbox(t.Context(), id)
	if err != nil || len(pending) != 1 {
		t.Errorf("pending %v, %v; an interrupt leaves the inbox", pending, err)
	}
	nothingStreams(t, w, id)
}

func TestInterruptSuppressesEarlierWakesOnly(t *testing.T) {
	w := New(t, Options{})
	id := w.Create()
	early := w.Admit(id, "early", session.Steer)
	if _, err := w.Sessions.Interrupt(t.Context(), session.System(), id); err != nil {
		t.Fatal(err)
	}
	w.Coordinator.Wake(id, early.Admitted)
	w.Provider.Script(Say("ok"))
	w.Prompt(id, "fresh", session.Steer)
	w.Settled(id, 1)
	if got := w.Provider.Requests()[0].Messages; len(got) != 2 {
		t.Errorf("the fresh wake promotes everything that is pending; got %+v", got)
	}
}

func TestPermissionAskedRepliedAndDeclined(t *testing.T) {
	rules := []session.Rule{{Action: "echo", Resource: "secret*", Effect: session.Ask}, {Action: "echo", Resource: "never", Effect: session.Deny}}
	ask := func(t *testing.T, reply session.Reply, feedback string) (*World, string, session.ActivityEnded) {
		w := New(t, Options{Rules: rules})
		w.Contribute("core/tools", echo(w))
		w.Provider.Script(Calls("echo", `{"path":"secret/x"}`), Say("Done"))
		id := w.Create()
		w.Prompt(id, "Go", session.Steer)
		w.Await(id, "session.permission.asked", 1)
		open, err := w.Permissions.List(t.Context(), id)
		if err != nil || len(open) != 1 || open[0].Ask.Resources[0] != "secret/x" {
			t.Fatalf("open %+v, %v", open, err)
		}
		if _, err := w.Permissions.Reply(t.Context(), session.Origin{Actor: "local:0"}, open[0].Request, reply, feedback); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Permissions.Reply(t.Context(), session.System(), open[0].Request, session.ReplyOnce, ""); !errors.Is(err, session.ErrResolved) {
			t.Errorf("a second reply: %v, want ErrResolved", err)
		}
		return w, id, outcome(t, w, id, 1)
	}
	t.Run("once", func(t *testing.T) {
		w, id, ended := ask(t, session.ReplyOnce, "")
		if ended.Outcome != session.Completed || w.Messages(id)[1].Parts[0].Tool.State != session.ToolStateCompleted {
			t.Errorf("ended %+v", ended)
		}
	})
	t.Run("always saves", func(t *testing.T) {
		w, id, _ := ask(t, session.ReplyAlways, "")
		w.Provider.Script(Calls("echo", `{"path":"secret/x"}`), Say("Again"))
		w.Prompt(id, "Again", session.Steer)
		if ended := outcome(t, w, id, 2); ended.Outcome != session.Completed {
			t.Errorf("ended %+v", ended)
		}
	})
	t.Run("always saves no pattern that the model chose", func(t *testing.T) {
		w := New(t, Options{Rules: rules})
		w.Contribute("core/tools", echo(w))
		w.Provider.Script(Calls("echo", `{"path":"secret*"}`), Say("Done"), Calls("echo", `{"path":"secret/y"}`), Say("Again"))
		id := w.Create()
		for n, reply := range []session.Reply{session.ReplyAlways, session.ReplyReject} {
			w.Prompt(id, "Go", session.Steer)
			w.Await(id, "session.permission.asked", n+1) // the second is asked all the same
			open, err := w.Permissions.List(t.Context(), id)
			if err != nil || len(open) != 1 || n == 0 && open[0].Ask.Save != nil {
				t.Fatalf("open %+v, %v", open, err)
			}
			if _, err := w.Permissions.Reply(t.Context(), session.System(), open[0].Request, reply, ""); err != nil {
				t.Fatal(err)
			}
			outcome(t, w, id, n+1)
		}
	})
	t.Run("declined halts", func(t *testing.T) {
		w, id, ended := ask(t, session.ReplyReject, "")
		if ended.Outcome != session.Halted || len(w.Provider.Requests()) != 1 {
			t.Errorf("ended %+v after %d requests", ended, len(w.Provider.Requests()))
		}
		if tool := w.Messages(id)[1].Parts[0].Tool; tool.Error.Message != "Tool execution interrupted" {
			t.Errorf("tool %+v", tool)
		}
	})
	t.Run("corrected goes on", func(t *testing.T) {
		w, id, ended := ask(t, session.ReplyReject, "use another file")
		if ended.Outcome != session.Completed {
			t.Errorf("ended %+v", ended)
		}
		if tool := w.Messages(id)[1].Parts[0].Tool; tool.Error.Kind != "denied" || !strings.Contains(tool.Error.Message, "use another file") {
			t.Errorf("tool %+v", tool.Error)
		}
	})
	t.Run("policy denial goes to the model", func(t *testing.T) {
		w := New(t, Options{Rules: rules})
		w.Contribute("core/tools", echo(w))
		w.Provider.Script(Calls("echo", `{"path":"never"}`), Say("Done"))
		id := w.Create()
		w.Prompt(id, "Go", session.Steer)
		if ended := outcome(t, w, id, 1); ended.Outcome != session.Completed {
			t.Errorf("ended %+v", ended)
		}
	})
	t.Run("interrupt withdraws", func(t *testing.T) {
		w := New(t, Options{Rules: rules})
		w.Contribute("core/tools", echo(w))
		w.Provider.Script(Calls("echo", `{"path":"secret/x"}`))
		id := w.Create()
		w.Prompt(id, "Go", session.Steer)
		w.Await(id, "session.permission.asked", 1)
		if _, err := w.Sessions.Interrupt(t.Context(), session.System(), id); err != nil {
			t.Fatal(err)
		}
		if open, err := w.Permissions.List(t.Context(), id); err != nil || len(open) != 0 {
			t.Errorf("open %v, %v", open, err)
		}
	})
}

func TestMaxTurns(t *testing.T) {
	config := runner.DefaultConfig()
	config.MaxTurns = 3
	w := New(t, Options{Config: config})
	w.Contribute("core/tools", echo(w))
	for n := range 4 {
		w.Provider.Script(Calls("echo", fmt.Sprintf(`{"n":%d}`, n)))
	}
	id := w.Create()
	w.Prompt(id, "Loop", session.Steer)
	ended := outcome(t, w, id, 1)
	if ended.Outcome != session.Failed || ended.Error.Code != session.FailureMaxTurns || len(w.Provider.Requests()) != 3 {
		t.Errorf("ended %+v after %d requests", ended, len(w.Provider.Requests()))
	}
}

func TestStaleAndReplacedCalls(t *testing.T) {
	w := New(t, Options{})
	w.Contribute("core/tools", echo(w))
	gone := func(ctx context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		w.Registries.Remove("core/tools", "")
		w.Contribute("core/other", echo(w)) // the same name again is another registration
		Calls("echo", `{}`)(ctx, request, yield)
	}
	replaced := func(ctx context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		w.Contribute("core/other", echo(w))
		Calls("echo", `{}`)(ctx, request, yield)
	}
	w.Provider.Script(gone, replaced, Say("Done"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	messages := w.Messages(id)
	if tool := messages[1].Parts[0].Tool; tool.Error == nil || tool.Error.Message != "Stale tool call: echo" {
		t.Errorf("removed: %+v", tool)
	}
	if tool := messages[2].Parts[0].Tool; tool.State != session.ToolStateCompleted {
		t.Errorf("replaced: %+v", tool)
	}
}

func TestProtocolViolationsFailTheStep(t *testing.T) {
	call := session.ModelEvent{Type: session.EventToolStart, ID: "c", Name: "echo"}
	for name, events := range map[string][]session.ModelEvent{
		"no finish":              {Delta("x")},
		"nothing at all":         {},
		"after the finish":       {Finish(session.FinishStop), Delta("x")},
		"end of nothing":         {{Type: session.EventTextEnd, ID: "t"}},
		"fragment after the end": {Delta("x"), {Type: session.EventTextEnd, ID: "text-0"}, Delta("y")},
		"arguments of no call":   {{Type: session.EventToolDelta, ID: "c", Text: "{"}},
		"a call twice":           {call, call},
		"a call without a name":  {{Type: session.EventToolStart, ID: "c"}},
		"no id":                  {{Type: session.EventTextDelta, Text: "x"}},
		"an unknown type":        {{Type: "surprise"}},
		"too long":               {Delta(strings.Repeat("x", runner.MaxPartBytes)), Delta("y")},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			w.Provider.Script(Events(events...))
			id := w.Create()
			w.Prompt(id, "Hi", session.Steer)
			ended := outcome(t, w, id, 1)
			if ended.Outcome != session.Failed || (ended.Error.Code != session.ProviderProtocol && ended.Error.Code != session.ProviderIncomplete) {
				t.Errorf("ended %+v", ended.Error)
			}
			w.Provider.Script(Say("fine"))
			w.Prompt(id, "Again", session.Steer)
			if again := outcome(t, w, id, 2); again.Outcome != session.Completed {
				t.Errorf("the session is not usable afterwards: %+v", again.Error)
			}
		})
	}
}

func TestUnknownProviderFailsTheActivityAndKeepsTheSession(t *testing.T) {
	w := New(t, Options{})
	id := w.Create()
	prompt := session.Prompt{Text: "Hi", Model: &session.ModelRef{Provider: "nobody", Model: "x"}}
	if _, err := w.Sessions.Admit(t.Context(), session.System(), session.PromptRequest{Session: id, Prompt: prompt}); err != nil {
		t.Fatal(err)
	}
	if ended := outcome(t, w, id, 1); ended.Error == nil || ended.Error.Code != session.FailureModelUnavailable {
		t.Fatalf("ended %+v", ended)
	}
	w.Provider.Script(Say("ok"))
	prompt = session.Prompt{Text: "Hi again", Model: &session.ModelRef{Provider: "scripted", Model: "m2"}}
	if _, err := w.Sessions.Admit(t.Context(), session.System(), session.PromptRequest{Session: id, Prompt: prompt}); err != nil {
		t.Fatal(err)
	}
	if ended := outcome(t, w, id, 2); ended.Outcome != session.Completed {
		t.Fatalf("ended %+v", ended)
	}
	if got := w.Provider.Requests()[0].Model.Model; got != "m2" {
		t.Errorf("model %s, want the prompt's", got)
	}
}

func TestTextBeforeACallStaysBeforeIt(t *testing.T) {
	w := New(t, Options{})
	w.Contribute("core/tools", echo(w))
	w.Provider.Script(Events(Delta("I look."),
		session.ModelEvent{Type: session.EventToolStart, ID: "c", Name: "echo"}, session.ModelEvent{Type: session.EventToolEnd, ID: "c"},
		Delta("And on."), Finish(session.FinishToolCalls)), Say("Done"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	var parts []string
	for _, part := range w.Messages(id)[1].Parts {
		parts = append(parts, part.ID+" "+part.Text)
	}
	if diff := cmp.Diff([]string{"text-0 I look.", "c ", "text-0~2 And on."}, parts); diff != "" {
		t.Error(diff)
	}
}
