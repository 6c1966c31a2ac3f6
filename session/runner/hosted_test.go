package runner_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

func TestHostedCalls(t *testing.T) {
	result := func(text string, failed bool) session.ModelEvent {
		return session.ModelEvent{Type: session.EventToolResult, ID: "h", Text: text, Failed: failed, Result: raw(`"` + text + `"`)}
	}
	for name, test := range map[string]struct {
		events []session.ModelEvent
		state  session.ToolState
		text   string // of the result, or the error's
		code   string // of the activity's failure
	}{
		"settled":                         {append(hosted("h", "search", `{}`), result("found", false)), session.ToolStateCompleted, "found", ""},
		"failed":                          {append(hosted("h", "search", `{}`), result("no luck", true)), session.ToolStateFailed, "no luck", ""},
		"failed without a word":           {append(hosted("h", "search", `{}`), result("", true)), session.ToolStateFailed, "The provider's tool failed", ""},
		"an error that comes late":        {append(hosted("h", "search", `{}`), result("found", false), result("late", true)), session.ToolStateCompleted, "found", ""},
		"a second result":                 {append(hosted("h", "search", `{}`), result("found", false), result("more", false)), session.ToolStateCompleted, "found", session.ProviderProtocol},
		"no result":                       {hosted("h", "search", `{}`), session.ToolStateFailed, "Provider did not return a tool result", ""},
		"a result before the end":         {append(hosted("h", "search", `{}`)[:2], result("found", false)), session.ToolStateCompleted, "found", ""},
		"a result of a call that is ours": {append(callOf("h", "echo", `{}`), result("found", false)), session.ToolStateCompleted, "echo {}", session.ProviderProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			w.Contribute("core/tools", echo(w))
			w.Provider.Script(answering(test.events...), Say("too many"))
			id := w.Create()
			w.Prompt(id, "Search", session.Steer)
			w.Settled(id, 1)
			if got := ended(w, id); code(got.Error) != test.code {
				t.Errorf("ended %+v", got)
			}
			only(t, w.Provider.Requests())
			part := only(t, only(t, assistants(w, id)).Parts)
			text := ""
			if part.Tool.Error != nil {
				text = part.Tool.Error.Message
			} else if len(part.Tool.Content) > 0 {
				text = part.Tool.Content[0].Text
			}
			if part.Tool.State != test.state || text != test.text {
				t.Errorf("call %+v with %q", part.Tool, text)
			}
		})
	}
}

// What the provider gave with a call and with its result are two things, and only its
// own model gets them back; a result without its own has the call's.
func TestMetadataOfHostedCalls(t *testing.T) {
	for name, test := range map[string]struct {
		result, call, sent string
		model              string
	}{
		"two":           {`{"result":1}`, `{"call":"signed"}`, `{"result":1}`, "m1"},
		"one":           {"", `{"call":"signed"}`, `{"call":"signed"}`, "m1"},
		"another model": {`{"result":1}`, "", "", "m2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			settled := session.ModelEvent{Type: session.EventToolResult, ID: "h", Text: "found", Result: raw(`{"native":1}`)}
			if test.result != "" {
				settled.Metadata = raw(test.result)
			}
			w.Provider.Script(answering(append(hosted("h", "search", `{}`), settled)...), Say("Done"))
			id := w.Create()
			w.Prompt(id, "Search", session.Steer)
			w.Settled(id, 1)
			stored := only(t, only(t, assistants(w, id)).Parts)
			if string(stored.Metadata) != `{"call":"signed"}` || string(stored.Tool.Metadata) != test.result || string(stored.Tool.Result) != `{"native":1}` {
				t.Errorf("stored %+v with %+v", stored, stored.Tool)
			}
			ask(w, id, session.Prompt{Text: "And?", Model: &session.ModelRef{Provider: "scripted", Model: test.model}})
			w.Settled(id, 2)
			parts := w.Provider.Requests()[1].Messages[1].Parts
			native := map[string]string{"m1": `{"native":1}`, "m2": ""}[test.model]
			got := []string{string(parts[0].Metadata), string(parts[1].Metadata), string(parts[1].Result), parts[1].Text}
			if diff := cmp.Diff([]string{test.call, test.sent, native, "found"}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An end of text that a call has completed already is no news.
func TestTheEndOfATextThatACallCompleted(t *testing.T) {
	w := New(t, Options{})
	w.Contribute("core/tools", echo(w))
	events := append([]session.ModelEvent{Delta("I look.")}, callOf("c", "echo", `{}`)...)
	w.Provider.Script(answering(append(events, session.ModelEvent{Type: session.EventTextEnd, ID: "text-0"})...), Say("Done"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	if got := ended(w, id); got.Outcome != session.Completed {
		t.Errorf("ended %+v", got)
	}
	if got := only(t, payloads[session.TextEnded](w, id)[:1]); got.Text != "I look." || len(assistants(w, id)[0].Parts) != 2 {
		t.Errorf("text %+v", got)
	}
}
