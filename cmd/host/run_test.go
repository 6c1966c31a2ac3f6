package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

// TestRunFormat: a structured answer is all there is on standard output, and HTTP has it
// in the result.
func TestRunFormat(t *testing.T) {
	r := newRig(t)
	schema := filepath.Join(r.project, "answer.json")
	if err := os.WriteFile(schema, []byte(objectSchema), 0o600); err != nil {
		t.Fatal(err)
	}
	prompt := `call structured_output {"n": 3}`
	id := r.session()
	out, notes, code := r.terminal("run", "--session", id, "--format", schema, prompt)
	if code != exitOK || out != "{\"n\":3}\n" || !strings.Contains(notes, "→ structured_output") {
		t.Errorf("exit %d, %q\n%s", code, out, notes)
	}
	if out, _, code := r.terminal("run", "--session", id, "--format", schema, "--json", prompt); code != exitOK || strings.HasPrefix(out, `{"n"`) {
		t.Errorf("exit %d, %q", code, out)
	}
	for want, prompt := range map[string]protocol.PromptBody{
		`{"n":3}`: {Text: prompt, Format: protocol.Raw(objectSchema)},
		"":        {Text: "count 1"},
	} {
		answer := got[protocol.PromptAnswer](r, request{path: "/v1/sessions/" + id + "/prompts?wait=settled", body: failing{prompt: prompt.Text, format: string(prompt.Format)}.body("")})
		if answer.Result == nil || answer.Result.Outcome != protocol.OutcomeCompleted || string(answer.Result.Structured) != want {
			t.Errorf("want %s: %+v", want, answer.Result)
		}
	}
	r.write("text.json", "no JSON")
	r.write("list.json", "[]")
	for name, want := range map[string]string{
		filepath.Join(r.project, "text.json"): "is no JSON; it must be a JSON Schema of an object",
		filepath.Join(r.project, "list.json"): "prompt.format is no JSON Schema that can be used: it is not an object",
		filepath.Join(r.project, "none.json"): "--format: open ",
	} {
		if out, notes, code := r.terminal("run", "--session", id, "--format", name, prompt); code != exitUsage || out != "" || !strings.Contains(notes, want) {
			t.Errorf("%s: exit %d, %q\n%s", name, code, out, notes)
		}
	}
}

// TestRunFlags: what a prompt is sent with, to a new session and to one that is there.
func TestRunFlags(t *testing.T) {
	r := newRig(t)
	r.configure("[models.\"offline/rules\".variants.high]\nfirst_event_ms = 90000\n")
	r.restart()
	id := r.session()
	for _, in := range []string{id, ""} {
		args := []string{"run", "--dir", r.project, "--agent", "plan", "--model", "offline/rules", "--variant", "high", "--queue", "count 1"}
		if in != "" {
			args = append([]string{"run", "--session", in}, args[3:]...)
		}
		out, notes, code := r.terminal(args...)
		if code != exitOK || out != "1\n" {
			t.Fatalf("%v: exit %d, %q\n%s", args, code, out, notes)
		}
		made := got[protocol.SessionList](r, request{method: http.MethodGet, path: "/v1/sessions"}).Sessions
		for _, s := range made {
			if s.Agent != "plan" || s.Model.Variant != "high" {
				t.Errorf("%v: %+v, %+v", args, s, s.Model)
			}
			admitted := r.decode(r.await(s.ID, -1, is[session.PromptAdmitted])).(session.PromptAdmitted)
			if admitted.Delivery != session.Queue {
				t.Errorf("%v: %+v", args, admitted)
			}
		}
	}
}

// TestProgress: which end is that of a prompt.
func TestProgress(t *testing.T) {
	ended := func(outcome session.Outcome, code string) session.ActivityEnded {
		e := session.ActivityEnded{Activity: "act", Outcome: outcome}
		if code != "" {
			e.Error = &session.Failure{Code: code}
		}
		return e
	}
	mine, other := session.PromptPromoted{Message: "mine"}, session.PromptPromoted{Message: "other"}
	started := session.ActivityStarted{Activity: "act"}
	for name, c := range map[string]struct {
		events    []session.Payload
		ends      bool
		cancelled bool
	}{
		"taken":                              {[]session.Payload{started, mine, ended(session.Completed, "")}, true, false},
		"of the activity before":             {[]session.Payload{ended(session.Failed, session.FailureInternal)}, false, false},
		"of another prompt":                  {[]session.Payload{started, other, ended(session.Failed, session.FailureInternal)}, false, false},
		"of another prompt, then its own":    {[]session.Payload{started, other, ended(session.Failed, ""), started, mine, ended(session.Failed, "")}, true, false},
		"without a context":                  {[]session.Payload{started, ended(session.Failed, session.FailureContextBlocked)}, true, false},
		"without a context, for another":     {[]session.Payload{ended(session.Failed, session.FailureContextBlocked)}, true, false},
		"without a budget":                   {[]session.Payload{started, ended(session.Failed, session.FailureBudget)}, true, false},
		"declined to exceed the budget":      {[]session.Payload{started, ended(session.Halted, session.FailureDeclined)}, true, false},
		"a resume that had nothing to do":    {[]session.Payload{started, ended(session.Completed, ""), ended(session.Failed, "")}, false, false},
		"cancelled":                          {[]session.Payload{session.PromptCancelled{Message: "mine"}}, false, true},
		"another one is cancelled meanwhile": {[]session.Payload{session.PromptCancelled{Message: "other"}}, false, false},
	} {
		p := progress{prompt: "mine"}
		for i, event := range c.events {
			got, cancelled := p.see(event)
			last := i == len(c.events)-1
			if (got != nil) != (last && c.ends) || cancelled != (last && c.cancelled) {
				t.Errorf("%s: event %d ends it: %v, cancelled: %v", name, i, got != nil, cancelled)
			}
		}
	}
}
