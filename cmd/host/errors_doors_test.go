package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

// overHTTP sends the prompt and looks at the answer, the events and the transcript.
func (f failing) overHTTP(r *rig) {
	r.t.Helper()
	id, prompt := f.session(r)
	path := "/v1/sessions/" + id
	if f.during != nil {
		done := make(chan struct{})
		go func() { // waits for what the prompt below does
			defer close(done)
			f.during(r, id)
		}()
		defer func() { <-done }()
	}
	answer := got[protocol.PromptAnswer](r, request{path: path + "/prompts?wait=settled", body: f.body(prompt)})
	if answer.Result == nil || answer.Result.Error == nil {
		r.t.Fatalf("HTTP answers %+v", answer.Result)
	}
	f.wants(r, "the result", *answer.Result.Error)
	if answer.Result.Outcome != f.outcome {
		r.t.Errorf("the outcome is %s, want %s", answer.Result.Outcome, f.outcome)
	}
	var ended session.ActivityEnded
	var steps []session.StepFailed
	for _, event := range got[protocol.EventList](r, request{method: http.MethodGet, path: path + "/events?limit=200"}).Events {
		switch event.Type {
		case session.ActivityEnded{}.EventType():
			r.unmarshal(event.Data, &ended)
		case session.StepFailed{}.EventType():
			var step session.StepFailed
			r.unmarshal(event.Data, &step)
			steps = append(steps, step)
		}
	}
	if ended.Error == nil {
		r.t.Fatalf("the log has %+v", ended)
	}
	f.wants(r, "session.activity.ended", *wireFailure(ended.Error))
	f.inTheTranscript(r, path, steps)
	inbox := got[protocol.Inbox](r, request{method: http.MethodGet, path: path + "/inbox"})
	if waits := len(inbox.Pending) == 1; waits != f.pending {
		r.t.Errorf("%d prompts wait, want it to: %v", len(inbox.Pending), f.pending)
	}
}

// inTheTranscript looks at the steps that failed, in the log and as messages.
func (f failing) inTheTranscript(r *rig, path string, steps []session.StepFailed) {
	r.t.Helper()
	if f.step == "" {
		if len(steps) > 0 {
			r.t.Errorf("steps failed: %+v", steps)
		}
		return
	}
	if len(steps) != 1 || steps[0].Error.Code != f.step {
		r.t.Errorf("the steps that failed are %+v, want %s", steps, f.step)
	}
	messages := got[protocol.MessageList](r, request{method: http.MethodGet, path: path + "/messages"}).Messages
	failed := slices.IndexFunc(messages, func(m protocol.Message) bool { return m.Error != nil })
	if failed < 0 {
		r.t.Fatalf("no message has the error: %+v", messages)
	}
	f.wants(r, "the message", *messages[failed].Error)
}

// atTheTerminal sends the prompt with plinth run.
func (f failing) atTheTerminal(r *rig) {
	r.t.Helper()
	id, prompt := f.session(r)
	args := append([]string{"run", "--session", id}, f.args...)
	if prompt != "" {
		args = append(args, "--id", prompt)
	}
	if f.format != "" {
		schema := filepath.Join(filepath.Dir(r.data), "answer.json")
		if err := os.WriteFile(schema, []byte(f.format), 0o600); err != nil {
			r.t.Fatal(err)
		}
		args = append(args, "--format", schema)
	}
	_, notes, exit := r.terminal(append(args, f.prompt)...)
	want := f.note
	if want == "" {
		want = fmt.Sprintf("plinth: %s (%s, session ·)", f.text, f.code)
	}
	if got := r.same(lastNote(notes)); got != want || exit != f.exit {
		r.t.Errorf("plinth run ends with %d, want %d\n%s\nwant\n%s\nall of it:\n%s", exit, f.exit, got, want, notes)
	}
	if strings.Contains(notes, "panic") {
		r.t.Error(notes)
	}
}

func (f failing) wants(r *rig, where string, failure protocol.Failure) {
	r.t.Helper()
	if text := r.same(failure.Message); failure.Code != f.code || text != f.text {
		r.t.Errorf("%s says %s\n%s\nwant %s\n%s", where, failure.Code, text, f.code, f.text)
	}
}

func (r *rig) unmarshal(data []byte, value any) {
	r.t.Helper()
	if err := json.Unmarshal(data, value); err != nil {
		r.t.Fatal(err)
	}
}
