package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

func badNames(t *testing.T) {
	w := New(t, Options{})
	for _, name := range []string{"1x", "a b", strings.Repeat("a", 65), "", "ä", "a\n"} {
		_, err := w.Registries.Replace(registry.Scope{ID: "org/p", Contributions: []registry.Contribution{
			w.Kinds.Tools.Contribute("good", 0, saying("good")), w.Kinds.Tools.Contribute(name, 0, saying("bad"))}})
		if refused, ok := errors.AsType[*registry.NameError](err); !ok || refused.Kind != "tool" || refused.Name != name || refused.Scope != "org/p" {
			t.Errorf("%q: %v", name, err)
		}
	}
	w.Contribute("core/good", w.Kinds.Tools.Contribute("a", 0, saying("a")), w.Kinds.Tools.Contribute("A_b-9", 0, saying("b")),
		w.Kinds.Tools.Contribute(strings.Repeat("a", 64), 0, saying("c")))
	w.Provider.Script(Say("ok"))
	settled(t, w, w.Create())
	if diff := cmp.Diff([]string{"A_b-9: b", "a: a", strings.Repeat("a", 64) + ": c"}, offered(w, 0)); diff != "" {
		t.Errorf("offered (-want +got):\n%s", diff)
	}
}

func shadowed(t *testing.T) {
	w := New(t, allowed())
	plug(t, w, "org/app", "", "t", saying("global"))
	plug(t, w, "org/local", "/work", "t", saying("local"))
	plug(t, w, "org/other", "/elsewhere", "t", saying("elsewhere"))
	id := w.Create()
	for i, want := range []string{"local", "global"} {
		w.Provider.Script(Calls("t", `{}`), Say("Done"))
		tells(t, settled(t, w, id), want)
		if diff := cmp.Diff([]string{"t: " + want}, offered(w, 2*i)); diff != "" {
			t.Errorf("offered (-want +got):\n%s", diff)
		}
		w.Registries.Remove("org/local", "/work")
	}
}

func staleCalls(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, w *World, same session.Tool){
		"another is revealed": func(t *testing.T, w *World, same session.Tool) { w.Registries.Remove("org/local", "/work") },
		"registered again": func(t *testing.T, w *World, same session.Tool) {
			w.Registries.Remove("org/local", "/work")
			plug(t, w, "org/local", "/work", "t", same)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, allowed())
			local := saying("local")
			plug(t, w, "org/app", "", "t", saying("global"))
			plug(t, w, "org/local", "/work", "t", local)
			w.Provider.Script(after(func() { change(t, w, local) }, Calls("t", `{}`)), Say("Well"))
			tells(t, settled(t, w, w.Create()), "error: Stale tool call: t")
		})
	}
}

func replacedTool(t *testing.T) {
	w := New(t, allowed())
	plug(t, w, "org/one", "", "one", saying("one"))
	plug(t, w, "org/two", "", "two", saying("two"))
	plug(t, w, "org/three", "", "three", saying("three"))
	var calls []session.ModelEvent
	for _, name := range []string{"one", "two", "three"} {
		calls = append(calls, session.ModelEvent{Type: session.EventToolStart, ID: "call-" + name, Name: name},
			session.ModelEvent{Type: session.EventToolEnd, ID: "call-" + name})
	}
	w.Provider.Script(after(func() {
		plug(t, w, "org/one", "", "one", saying("another one"))
		w.Registries.Remove("org/three", "")
	}, Events(append(calls, Finish(session.FinishToolCalls))...)), Say("Done"))
	tells(t, settled(t, w, w.Create()), "one", "two", "error: Stale tool call: three")
	if diff := cmp.Diff([]string{"one: another one", "two: two"}, offered(w, 1)); diff != "" {
		t.Errorf("offered then (-want +got):\n%s", diff)
	}
}

func hiddenTools(t *testing.T) {
	rule := func(effect session.Effect, action, resource string) session.Rule {
		return session.Rule{Action: action, Resource: resource, Effect: effect}
	}
	for name, c := range map[string]struct {
		rules []session.Rule
		want  []string
	}{
		"denied":               {[]session.Rule{rule(session.Deny, "bash", "*")}, nil},
		"allowed on one":       {[]session.Rule{rule(session.Deny, "*", "*"), rule(session.Allow, "bash", "git*")}, []string{"bash: a tool"}},
		"allowed, then denied": {[]session.Rule{rule(session.Allow, "bash", "*"), rule(session.Deny, "bash", "*")}, nil},
		"denied twice":         {[]session.Rule{rule(session.Deny, "bash", "*"), rule(session.Deny, "bash", "rm*")}, []string{"bash: a tool"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{Rules: c.rules})
			w.Contribute("core/shell", tool(w, "bash", nil))
			w.Provider.Script(Say("ok"))
			settled(t, w, w.Create())
			if diff := cmp.Diff(c.want, offered(w, 0)); diff != "" {
				t.Errorf("offered (-want +got):\n%s", diff)
			}
		})
	}
}

func undecodableInput(t *testing.T) {
	w := New(t, Options{})
	ran := false
	strict := Tool{Define: session.ToolDefinition{Input: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)},
		Run: func(context.Context, session.ToolCall) (session.ToolOutput, error) {
			ran = true
			return Output("ran"), nil
		}}
	w.Contribute("core/strict", w.Kinds.Tools.Contribute("strict", 0, strict))
	id := w.Create()
	for _, input := range []string{`{"n":"one"}`, `{}`, `{"n":`, `7`} {
		w.Provider.Script(Calls("strict", input), Say("Well"))
		calls := settled(t, w, id)
		if len(calls) != 1 || !strings.HasPrefix(told(calls[0]), "error: Invalid tool input: ") || calls[0].Error.Kind != "invalid_input" || ran {
			t.Errorf("%s: %+v, ran: %t", input, calls, ran)
		}
	}
	w.Provider.Script(Calls("strict", `{"n":1}`), Say("Well"))
	tells(t, settled(t, w, id), "ran")
}

func invalidOutput(t *testing.T) {
	w := New(t, Options{})
	value := json.RawMessage(`{"n":"one"}`)
	typed := Tool{Define: session.ToolDefinition{Output: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)},
		Run: func(context.Context, session.ToolCall) (session.ToolOutput, error) {
			return session.ToolOutput{Structured: value}, nil
		}}
	w.Contribute("core/typed", w.Kinds.Tools.Contribute("typed", 0, typed))
	id := w.Create()
	w.Provider.Script(Calls("typed", `{}`), Say("Well"))
	calls := settled(t, w, id)
	if len(calls) != 1 || !strings.HasPrefix(told(calls[0]), "error: Tool returned an invalid value for its output schema: ") || calls[0].Structured != nil {
		t.Errorf("%+v", calls)
	}
	value = json.RawMessage(`{"n":1}`)
	w.Provider.Script(Calls("typed", `{}`), Say("Well"))
	if calls := settled(t, w, id); calls[0].State != session.ToolStateCompleted || string(calls[0].Structured) != `{"n":1}` {
		t.Errorf("%+v", calls[0])
	}
}

func failures(t *testing.T) {
	w := New(t, Options{})
	started := make(chan struct{}, 1)
	w.Contribute("core/tools",
		tool(w, "means", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
			return session.ToolOutput{}, &session.ToolError{Kind: "not_found", Message: "no such thing"}
		}),
		tool(w, "breaks", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
			return session.ToolOutput{}, errors.New("a secret detail")
		}),
		tool(w, "panics", func(context.Context, session.ToolCall) (session.ToolOutput, error) { panic("a secret detail") }),
		tool(w, "waits", func(ctx context.Context, _ session.ToolCall) (session.ToolOutput, error) {
			started <- struct{}{}
			<-ctx.Done()
			return session.ToolOutput{}, ctx.Err()
		}))
	id := w.Create()
	for name, want := range map[string]string{"means": "error: no such thing",
		"breaks": "error: Tool execution failed: breaks broke; the host's log has the reason",
		"panics": "error: Tool execution failed: panics broke; the host's log has the reason"} {
		w.Provider.Script(Calls(name, `{}`), Say("I see"))
		tells(t, settled(t, w, id), want)
		if got := result(t, w); !got.Error || "error: "+got.Text != want {
			t.Errorf("the model reads %+v", got)
		}
	}
	requests := len(w.Provider.Requests())
	w.Provider.Script(Calls("waits", `{}`))
	w.Prompt(id, "Wait", session.Steer)
	<-started
	if _, err := w.Sessions.Interrupt(t.Context(), session.System(), id); err != nil {
		t.Fatal(err)
	}
	if ended := outcome(t, w, id, 4); ended.Outcome != session.Interrupted || len(w.Provider.Requests()) != requests+1 {
		t.Errorf("ended %+v after %d more requests", ended, len(w.Provider.Requests())-requests)
	}
	messages := w.Messages(id)
	tells(t, []*session.ToolPart{messages[len(messages)-1].Parts[0].Tool}, "error: Tool execution interrupted")
}

func resultForms(t *testing.T) {
	for name, c := range map[string]struct {
		output session.ToolOutput
		model  string
		parts  int
	}{
		"text":                 {Output("plain"), "plain", 1},
		"structured":           {session.ToolOutput{Structured: json.RawMessage(`{"a":[1,2]}`)}, `{"a":[1,2]}`, 0},
		"structured with text": {session.ToolOutput{Structured: json.RawMessage(`{"a":1}`), Content: Output("a is 1").Content}, "a is 1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			w.Contribute("core/tools", tool(w, "form", func(context.Context, session.ToolCall) (session.ToolOutput, error) { return c.output, nil }))
			w.Provider.Script(Calls("form", `{}`), Say("Done"))
			calls := settled(t, w, w.Create())
			if got := result(t, w); got.Text != c.model || got.Error {
				t.Errorf("the model reads %+v", got)
			}
			if len(calls[0].Content) != c.parts || string(calls[0].Structured) != string(c.output.Structured) {
				t.Errorf("stored %+v", calls[0])
			}
		})
	}
}

func progressIsLive(t *testing.T) {
	w := New(t, Options{})
	reported, goOn := make(chan struct{}), make(chan struct{})
	w.Contribute("core/tools", tool(w, "slow", func(_ context.Context, call session.ToolCall) (session.ToolOutput, error) {
		call.Host.Progress("half")
		call.Host.Progress("most")
		close(reported)
		<-goOn
		return Output("all"), nil
	}))
	w.Provider.Script(Calls("slow", `{}`), Say("Done"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	<-reported
	var live []string
	for _, part := range w.Live.Open(id) {
		if part.Kind == session.LiveToolProgress {
			live = append(live, part.Text)
		}
	}
	if diff := cmp.Diff([]string{"half\nmost\n"}, live); diff != "" {
		t.Errorf("live (-want +got):\n%s", diff)
	}
	close(goOn)
	events := Text(w.Settled(id, 1))
	if strings.Contains(events, "half") || strings.Contains(events, "most") {
		t.Errorf("progress is in the log:\n%s", events)
	}
	tells(t, []*session.ToolPart{w.Messages(id)[1].Parts[0].Tool}, "all")
	nothingStreams(t, w, id)
}
