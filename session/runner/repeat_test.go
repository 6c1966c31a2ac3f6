package runner_test

import (
	"strings"
	"testing"

	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// The third identical call in a row is asked about, whoever made the ones before.
func TestCallsInCircles(t *testing.T) {
	for name, test := range map[string]struct {
		turns []Turn
		asks  int
	}{
		"two":                        {[]Turn{Calls("echo", `{"a":1}`), Calls("echo", `{"a":1}`)}, 0},
		"three":                      {[]Turn{Calls("echo", `{"a":1}`), Calls("echo", `{"a":1}`), Calls("echo", `{"a":1}`)}, 1},
		"four":                       {[]Turn{Calls("echo", `{"a":1}`), Calls("echo", `{"a":1}`), Calls("echo", `{"a":1}`), Calls("echo", `{"a":1}`)}, 2},
		"three in one answer":        {[]Turn{Calls("echo", `{"a":1}`, `{"a":1}`, `{"a":1}`)}, 1},
		"over two answers":           {[]Turn{Calls("echo", `{"a":1}`, `{"a":1}`), Calls("echo", `{"a":1}`)}, 1},
		"the same as JSON":           {[]Turn{Calls("echo", `{"a":1,"b":2}`), Calls("echo", `{ "b": 2, "a": 1 }`), Calls("echo", `{"b":2,"a":1}`)}, 1},
		"a number written otherwise": {[]Turn{Calls("echo", `{"a":1}`), Calls("echo", `{"a":1.0}`), Calls("echo", `{"a":1}`)}, 0},
		"another input between":      {[]Turn{Calls("echo", `{"a":1}`), Calls("echo", `{"a":1}`), Calls("echo", `{"a":2}`), Calls("echo", `{"a":1}`)}, 0},
		"another tool between":       {[]Turn{Calls("echo", `{"a":1}`), Calls("echo", `{"a":1}`), Calls("other", `{"a":1}`), Calls("echo", `{"a":1}`)}, 0},
		"text between":               {[]Turn{Calls("echo", `{"a":1}`), Calls("echo", `{"a":1}`), Then(Events(Delta("Once more")), Calls("echo", `{"a":1}`))}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			w.Contribute("core/tools", echo(w))
			w.Contribute("core/other", w.Kinds.Tools.Contribute("other", 0, session.Tool(Tool{Define: session.ToolDefinition{Name: "other"}, Run: quiet})))
			w.Provider.Script(test.turns...)
			w.Provider.Script(Say("Done"))
			id := w.Create()
			w.Prompt(id, "Go", session.Steer)
			for n := range test.asks {
				w.Await(id, session.PermissionAsked{}.EventType(), n+1)
				asked := payloads[session.PermissionAsked](w, id)[n]
				if asked.Ask.Action != "doom_loop" || asked.Ask.Resources[0] != "echo" {
					t.Fatalf("asked %+v", asked.Ask)
				}
				reply(w, asked.Request, session.ReplyOnce)
			}
			if got := outcome(t, w, id, 1); got.Outcome != session.Completed {
				t.Errorf("ended %+v", got)
			}
			if n := len(payloads[session.PermissionAsked](w, id)); n != test.asks {
				t.Errorf("asked %d times, want %d", n, test.asks)
			}
		})
	}
}

func TestAPromptEndsTheCircle(t *testing.T) {
	w := New(t, Options{})
	w.Contribute("core/tools", echo(w))
	w.Provider.Script(Calls("echo", `{}`), Calls("echo", `{}`), Say("Done"), Calls("echo", `{}`), Say("Done"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	w.Prompt(id, "Again", session.Steer)
	if got := outcome(t, w, id, 2); got.Outcome != session.Completed || len(payloads[session.PermissionAsked](w, id)) != 0 {
		t.Errorf("ended %+v", got)
	}
}

func TestCirclesThatARuleDenies(t *testing.T) {
	w := New(t, Options{Rules: []session.Rule{{Action: "doom_loop", Resource: "*", Effect: session.Deny}}})
	w.Contribute("core/tools", echo(w))
	w.Provider.Script(Calls("echo", `{}`), Calls("echo", `{}`), Calls("echo", `{}`), Say("I stop"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	if got := outcome(t, w, id, 1); got.Outcome != session.Completed {
		t.Errorf("ended %+v", got)
	}
	if got := only(t, payloads[session.ToolFailed](w, id)); got.Error.Kind != "denied" || !strings.HasPrefix(got.Error.Message, "doom_loop on echo") {
		t.Errorf("call %+v", got)
	}
	if n := len(payloads[session.ToolSucceeded](w, id)); n != 2 {
		t.Errorf("%d calls ran, want 2", n)
	}
}
