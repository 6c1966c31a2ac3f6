package runner_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// person is a schema, as its canonical JSON.
const person = `{"properties":{"name":{"type":"string"}},"required":["name"],"type":"object"}`

const structured = "structured_output"

func TestStructuredAnswers(t *testing.T) {
	good, bad, noJSON := Calls(structured, `{"name":"Ada"}`), Calls(structured, `{"name":7}`), Calls(structured, `{"name`)
	both := answering(append(callOf("c", "echo", `{}`), callOf("d", structured, `{"name":"Ada"}`)...)...)
	twice := answering(append(callOf("c", structured, `{"name":"Ada"}`), callOf("d", structured, `{}`)...)...)
	for name, test := range map[string]struct {
		turns     []Turn
		outcome   session.Outcome
		requests  int
		reminders int
	}{
		"given":                           {[]Turn{good}, session.Completed, 1, 0},
		"beside another tool":             {[]Turn{both}, session.Completed, 1, 0},
		"after another tool":              {[]Turn{Calls("echo", `{}`), good}, session.Completed, 2, 0},
		"one that fits and one that not":  {[]Turn{twice}, session.Completed, 1, 0},
		"one that does not fit, then one": {[]Turn{bad, good}, session.Completed, 2, 0},
		"no JSON, then one":               {[]Turn{noJSON, good}, session.Completed, 2, 0},
		"text, then one":                  {[]Turn{Say("Ada"), good}, session.Completed, 2, 1},
		"text twice, then one":            {[]Turn{Say("Ada"), Say("Ada"), good}, session.Completed, 3, 2},
		"nothing, then one":               {[]Turn{answering(), good}, session.Completed, 2, 1},
		"never":                           {[]Turn{Say("Ada"), Say("Ada"), Say("Ada")}, session.Failed, 3, 2},
		"never one that fits":             {[]Turn{bad, Calls(structured, `{}`), bad}, session.Failed, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			w.Contribute("core/tools", echo(w))
			w.Provider.Script(test.turns...)
			w.Provider.Script(Say("too many"))
			id := w.Create()
			ask(w, id, session.Prompt{Text: "Who?", Format: raw(person)})
			w.Settled(id, 1)
			got := ended(w, id)
			if got.Outcome != test.outcome || test.outcome == session.Failed && code(got.Error) != session.FailureFormat {
				t.Errorf("ended %+v", got)
			}
			if n := len(w.Provider.Requests()); n != test.requests {
				t.Errorf("%d requests, want %d", n, test.requests)
			}
			if n := len(payloads[session.Synthetic](w, id)); n != test.reminders {
				t.Errorf("%d reminders, want %d", n, test.reminders)
			}
			for _, succeeded := range payloads[session.ToolSucceeded](w, id) {
				if succeeded.Structured != nil && string(succeeded.Structured) != `{"name":"Ada"}` {
					t.Errorf("the answer is %s", succeeded.Structured)
				}
			}
		})
	}
}

// The tool of the answer is offered with its schema, in the place of one of its name.
func TestTheToolOfAStructuredAnswer(t *testing.T) {
	w := New(t, Options{})
	w.Contribute("core/tools", echo(w), w.Kinds.Tools.Contribute(structured, 0, session.Tool(Tool{Define: session.ToolDefinition{Name: structured}, Run: quiet})))
	w.Provider.Script(Calls(structured, `{}`), Calls(structured, `{"name":"Ada"}`), Calls(structured, `{}`), Say("Done"))
	id := w.Create()
	ask(w, id, session.Prompt{Text: "Who?", Format: raw(person)})
	w.Settled(id, 1)
	request := w.Provider.Requests()[0]
	if diff := cmp.Diff([]string{"echo", structured}, names(request)); diff != "" {
		t.Error(diff)
	}
	if got := request.Tools[1]; string(got.Input) != person {
		t.Errorf("offered %+v", got)
	}
	if n := len(request.Messages); n != 2 || request.Messages[1].Role != session.RoleSystem || !strings.Contains(request.Messages[1].Parts[0].Text, structured) {
		t.Errorf("messages %+v", request.Messages)
	}
	if n := len(w.Provider.Requests()); n != 2 {
		t.Errorf("%d requests: the tool of the same name ran", n)
	}
	// Without a format the other one is back.
	w.Prompt(id, "Hi", session.Steer)
	w.Settled(id, 2)
	if got := w.Provider.Requests()[2].Tools; len(got) != 2 || got[1].Input != nil {
		t.Errorf("offered %+v", got)
	}
	if steps := assistants(w, id); steps[2].Parts[0].Tool.State != session.ToolStateCompleted {
		t.Errorf("call %+v", steps[2].Parts[0].Tool)
	}
}

func TestAFormatThatIsNoSchema(t *testing.T) {
	w := New(t, Options{})
	id := w.Create()
	ask(w, id, session.Prompt{Text: "Who?", Format: raw(`{"type":"nothing"}`)})
	w.Settled(id, 1)
	if got := ended(w, id); got.Outcome != session.Failed || code(got.Error) != session.FailureFormat {
		t.Errorf("ended %+v", got)
	}
	if n := len(w.Provider.Requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

// The last step cannot call tools, so an answer that is missing then is not reminded of.
func TestAStructuredAnswerIsMissingAfterTheLastStep(t *testing.T) {
	w := New(t, Options{Agents: builder(func(a *session.Agent) { a.Steps = 2 })})
	w.Contribute("core/tools", echo(w))
	w.Provider.Script(Calls("echo", `{}`), Say("Ada"), Say("too many"))
	id := w.Create()
	ask(w, id, session.Prompt{Text: "Who?", Format: raw(person)})
	w.Settled(id, 1)
	if got := ended(w, id); got.Outcome != session.Failed || code(got.Error) != session.FailureFormat {
		t.Errorf("ended %+v", got)
	}
	if n := len(w.Provider.Requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}
