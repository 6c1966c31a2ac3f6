package runner_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// report answers the report and holds it to leaving nothing behind.
func (w *world) report() runner.Report {
	w.T.Helper()
	before, counts := Text(events(w.World, w.id)), w.Runner.ContextCounts()
	report, err := w.Runner.Report(w.T.Context(), w.id)
	if err != nil {
		w.T.Fatal(err)
	}
	if diff := cmp.Diff(before, Text(events(w.World, w.id))); diff != "" {
		w.T.Errorf("the report recorded %s", diff)
	}
	if diff := cmp.Diff(counts, w.Runner.ContextCounts()); diff != "" {
		w.T.Errorf("the report was counted as a boundary: %s", diff)
	}
	return report
}

func size(name string, bytes int64) runner.Size {
	return runner.Size{Name: name, Bytes: bytes, Tokens: (bytes + 3) / 4}
}

func TestAReportOfTheNextRequest(t *testing.T) {
	w := newWorld(t, Options{Agents: builder(func(a *session.Agent) { a.System = strings.Repeat("b", 41) }),
		Models: Models{"scripted/m1": {ModelInfo: session.ModelInfo{Context: 1000}}}})
	w.contribute("core/env", "", "core/date", "core/place")
	w.Contribute("core/tools", echo(w.World))
	w.set("core/date", "Monday", "core/place", "here!")
	before := w.report() // of a session without an epoch
	if before.Epoch != -1 || len(before.Messages) != 0 || before.Problem != "" {
		t.Errorf("before anything: %+v", before)
	}
	w.turn("Hi there")
	w.set("core/date", "Tuesday", "core/place", "")
	w.Admit(w.id, "More", session.Steer)
	got := w.report()
	sources := []runner.Size{size("host/agent", 41), size("core/date", 19), size("core/place", 19), size("", 4)}
	if diff := cmp.Diff(sources, got.Sources); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(sources, before.Sources); diff != "" {
		t.Errorf("the first epoch would be: %s", diff)
	}
	for i := range got.Messages {
		got.Messages[i].ID = ""
	}
	messages := []runner.MessageSize{{Type: session.MessageUser, Bytes: 8, Tokens: 2}, {Type: session.MessageAssistant, Bytes: 3, Tokens: 1},
		{Type: session.MessageUser, Pending: true, Bytes: 4, Tokens: 1}, {Type: session.MessageSystem, Pending: true, Bytes: 24, Tokens: 6}}
	if diff := cmp.Diff(messages, got.Messages); diff != "" {
		t.Error(diff)
	}
	if len(got.Tools) != 1 || got.Tools[0].Name != "echo" || got.Tools[0].Bytes == 0 {
		t.Errorf("tools %+v", got.Tools)
	}
	tools := got.Tools[0]
	if got.Bytes != 83+39+tools.Bytes || got.Total != 11+5+5+1+10+tools.Tokens || got.Context != 1000 {
		t.Errorf("%d bytes, %d tokens of %d", got.Bytes, got.Total, got.Context)
	}
	if got.Largest != "source host/agent" && tools.Bytes <= 41 {
		t.Errorf("the largest is %s", got.Largest)
	}
	if diff := cmp.Diff([]string{"core/place"}, got.Unavailable); diff != "" || got.Epoch < 0 {
		t.Errorf("epoch %d, unavailable %s", got.Epoch, diff)
	}
	// What was reported is what the next turn sends.
	w.Provider.Script(Say("Yes"))
	w.Run(w.id)
	requests := w.Provider.Requests()
	var sent int64
	for _, m := range requests[len(requests)-1].Messages {
		for _, part := range m.Parts {
			sent += int64(len(part.Text))
		}
	}
	if sent != 39 {
		t.Errorf("sent %d bytes of messages, reported 39", sent)
	}
}

func TestAReportOfWhatCannotBeSent(t *testing.T) {
	w := newWorld(t, Options{Models: Models{"scripted/m1": {Err: &session.ModelError{Reason: session.ModelUnavailable, Message: "there is no m1"}}}})
	w.contribute("core/env", "", "core/date")
	w.set("core/date", "Monday")
	if got := w.report(); got.Problem != "there is no m1" || len(got.Sources) != 1 {
		t.Errorf("without a model: %+v", got)
	}
	w.set("core/date", "")
	if got := w.report(); !strings.Contains(got.Problem, "core/date") || len(got.Sources) != 0 || !cmp.Equal(got.Unavailable, []string{"host/agent", "core/date"}) {
		t.Errorf("without a context: %+v", got)
	}
	if _, err := w.Runner.Report(t.Context(), "ses_gone"); err == nil {
		t.Error("a report of no session")
	}
}

func TestAReportOfABlockedEpoch(t *testing.T) {
	w := newWorld(t, Options{})
	w.contribute("core/env", "", "core/a", "core/b")
	w.set("core/a", "1", "core/b", "1")
	w.turn("Hi")
	w.compact()
	w.set("core/b", "")
	if diff := cmp.Diff([]string{"core/b"}, w.report().Blocked); diff != "" {
		t.Error(diff)
	}
	w.set("core/b", "1")
	if got := w.report(); got.Blocked != nil || got.Epoch != -1 {
		t.Errorf("the next turn begins an epoch: %+v", got)
	}
}
