package session_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

func promotedPlace(t *testing.T, d *desk, id string) {
	input := d.held(id, "Hi", session.Steer)
	d.append(id, session.InterruptRequested{}, session.InterruptRequested{})
	promoted := d.promote(input)[0]
	messages := d.messages(id)
	if len(messages) != 1 || messages[0].Seq != promoted.Seq || messages[0].Created != input.Created {
		t.Errorf("%+v; promoted at %d, admitted at %d ms", messages, promoted.Seq, input.Created)
	}
	if promoted.Seq == input.Admitted || promoted.Time.UnixMilli() == input.Created {
		t.Error("the admission and the promotion cannot be told apart")
	}
}

func secondCreator(t *testing.T, d *desk, id string) {
	message := d.id(session.PrefixMessage)
	d.append(id, session.Synthetic{Message: message, Text: "first"})
	before := d.messages(id)
	for _, creator := range []session.Payload{
		session.Synthetic{Message: message, Text: "second"}, session.AgentSwitched{Message: message, Agent: "plan"},
		session.ShellStarted{Message: message, Call: "c"}, session.StepStarted{Message: message},
		session.CompactionEnded{Message: message}, session.PromptAdmitted{Message: message, Prompt: session.Prompt{Text: "x"}, Delivery: session.Steer},
	} {
		_, err := d.try(id, creator)
		wantConflict(t, err)
	}
	waiting := d.held(id, "Hi", session.Steer)
	_, err := d.try(id, session.Synthetic{Message: waiting.ID, Text: "the id of a prompt that waits"})
	wantConflict(t, err)
	if diff := cmp.Diff(before, d.messages(id)); diff != "" {
		t.Error(diff)
	}
	if d.session(id).Agent != "build" {
		t.Error("a refused switch changed the session")
	}
}

func stepClosesNothing(t *testing.T, d *desk, id string) {
	open := d.assistant(id)
	done := d.assistant(id)
	d.append(id, session.StepEnded{Message: done, Finish: session.FinishStop})
	d.assistant(id)
	for i, completed := range []bool{false, true, false} {
		if got := d.messages(id)[i].Completed != 0; got != completed {
			t.Errorf("message %d: completed %v", i, got)
		}
	}
	d.append(id, session.StepFailed{Message: open, Error: session.Failure{Code: session.FailureInterrupted, Message: "m"}})
	if m := d.messages(id)[0]; m.Completed == 0 || m.Error == nil || m.Error.Code != session.FailureInterrupted {
		t.Errorf("%+v", m)
	}
}

func unknownMessage(t *testing.T, d *desk, id string) {
	d.append(id, session.Synthetic{Message: d.id(session.PrefixMessage), Text: "one"})
	before := d.messages(id)
	gone := d.id(session.PrefixMessage)
	d.append(id, session.TextEnded{Message: gone, Part: "text-0", Text: "x"}, session.ReasoningEnded{Message: gone, Part: "r", Text: "x"},
		session.ToolInputEnded{Message: gone, Call: "c", Name: "read", Text: "{"},
		session.ToolCalled{Message: gone, Call: "c", Name: "read", Input: raw(`{}`)}, session.ToolSucceeded{Message: gone, Call: "c"},
		session.ToolFailed{Message: gone, Call: "c"}, session.StepEnded{Message: gone}, session.StepFailed{Message: gone},
		session.ShellEnded{Call: "c", Output: "x"})
	if diff := cmp.Diff(before, d.messages(id)); diff != "" {
		t.Error(diff)
	}
}

func runningInput(t *testing.T, d *desk, id string) {
	message := d.assistant(id)
	d.append(id, session.ToolCalled{Message: message, Call: "c", Name: "read", Input: raw(`{"path":"a"}`)},
		session.ToolInputEnded{Message: message, Call: "c", Name: "read", Text: `{"path":"b`})
	if part := d.tool(id, message); part.Tool.State != session.ToolStateRunning || string(part.Tool.Input) != `{"path":"a"}` || part.Tool.Raw != "" {
		t.Errorf("%+v", part.Tool)
	}
	d.append(id, session.ToolSucceeded{Message: message, Call: "c", Title: "done"})
	if parts := d.messages(id)[0].Parts; len(parts) != 1 || parts[0].Tool.State != session.ToolStateCompleted {
		t.Errorf("%+v", parts)
	}
	// Ids of calls may come again: once it is settled, the next is another call.
	d.append(id, session.ToolInputEnded{Message: message, Call: "c", Name: "read", Text: `{"path":"b`})
	if parts := d.messages(id)[0].Parts; len(parts) != 2 || parts[1].Tool.State != session.ToolStatePending || parts[1].Tool.Raw != `{"path":"b` {
		t.Errorf("%+v", parts)
	}
}

func progressIsLive(t *testing.T, d *desk, id string) {
	_, err := d.log.Append(t.Context(), store.Batch{Aggregate: id, Mode: store.Any(), Events: []store.Event{{
		ID: d.id(session.PrefixEvent), Type: "session.tool.progress", Version: 1, Time: d.clock.Now(), Data: []byte(`{}`)}}})
	if err == nil {
		t.Error("an event of progress was taken")
	}
	live := session.NewLive()
	live.Append(id, "msg_1", "c", session.LiveToolProgress, "half\n")
	if open := live.Open(id); len(open) != 1 || open[0].Text != "half\n" {
		t.Errorf("%+v", open)
	}
}

func pendingFails(t *testing.T, d *desk, id string) {
	message := d.assistant(id)
	d.append(id, session.ToolInputEnded{Message: message, Call: "c", Name: "read", Text: `{"pa`},
		session.ToolFailed{Message: message, Call: "c", Error: session.ToolError{Kind: "cancelled", Message: "broke off"}})
	tool := d.tool(id, message).Tool
	if tool.State != session.ToolStateFailed || string(tool.Input) != "{}" || len(tool.Content) != 0 || tool.Structured != nil || tool.Error.Kind != "cancelled" {
		t.Errorf("%+v", tool)
	}
}

func metadataApart(t *testing.T, d *desk, id string) {
	message := d.assistant(id)
	d.append(id, session.ToolCalled{Message: message, Call: "c", Name: "search", Input: raw(`{}`), Metadata: raw(`{"m":1}`), Hosted: true},
		session.ToolSucceeded{Message: message, Call: "c", Metadata: raw(`{"m":2}`), Result: raw(`{"r":3}`)})
	part := d.tool(id, message)
	if string(part.Metadata) != `{"m":1}` || string(part.Tool.Metadata) != `{"m":2}` || string(part.Tool.Result) != `{"r":3}` || !part.Tool.Hosted {
		t.Errorf("%+v with %+v", part, part.Tool)
	}
	_, err := d.try(id, session.ToolFailed{Message: message, Call: "c"})
	if err == nil {
		t.Error("a call was settled twice")
	}
}

func newestShell(t *testing.T, d *desk, id string) {
	exit := 1
	d.append(id, session.ShellStarted{Message: d.id(session.PrefixMessage), Call: "c", Command: "first"},
		session.ShellStarted{Message: d.id(session.PrefixMessage), Call: "c", Command: "second"},
		session.ShellEnded{Call: "c", Output: "out", Exit: &exit})
	messages := d.messages(id)
	if messages[0].Completed != 0 || messages[0].Output != "" {
		t.Errorf("%+v", messages[0])
	}
	if messages[1].Completed == 0 || messages[1].Output != "out" || *messages[1].Exit != 1 {
		t.Errorf("%+v", messages[1])
	}
}

func compactionMessage(t *testing.T, d *desk, id string) {
	message := d.id(session.PrefixMessage)
	d.append(id, session.CompactionStarted{Message: message, Reason: session.CompactionManual})
	if messages := d.messages(id); len(messages) != 0 {
		t.Errorf("%+v", messages)
	}
	ended := d.append(id, session.CompactionEnded{Message: message, Reason: session.CompactionManual, Summary: "so far", Boundary: 1})[0]
	messages := d.messages(id)
	if len(messages) != 1 || messages[0].Seq != ended.Seq || messages[0].Type != session.MessageCompaction || messages[0].Text != "so far" {
		t.Errorf("%+v", messages)
	}
}

func movedPlace(t *testing.T, d *desk, id string) {
	d.append(id, session.ContextInitialized{Baseline: "b", Snapshot: session.Snapshot{}})
	place := session.Location{Directory: "/other/sub", Root: "/other", Workspace: "w1", Git: true}
	d.append(id, session.Moved{Location: place})
	if got := d.session(id).Location; got != place {
		t.Errorf("%+v", got)
	}
	if messages := d.messages(id); len(messages) != 0 {
		t.Errorf("%+v", messages)
	}
	err := d.log.View(t.Context(), func(tx store.Tx) error {
		_, err := session.LoadEpoch(context.Background(), tx, id)
		return err
	})
	if err == nil {
		t.Error("the epoch is still there")
	}
}

func switched(t *testing.T, d *desk, id string) {
	agent, model := d.id(session.PrefixMessage), d.id(session.PrefixMessage)
	d.append(id, session.AgentSwitched{Message: agent, Agent: "plan"})
	if s, m := d.session(id), d.messages(id); s.Agent != "plan" || len(m) != 1 || m[0].ID != agent || m[0].Agent != "plan" || m[0].Type != session.MessageAgent {
		t.Errorf("%+v, %+v", s, m)
	}
	to := session.ModelRef{Provider: "p", Model: "m", Variant: "v"}
	d.append(id, session.ModelSwitched{Message: model, Model: to})
	if s, m := d.session(id), d.messages(id); s.Model != to || len(m) != 2 || *m[1].Model != to || m[1].Type != session.MessageModel {
		t.Errorf("%+v, %+v", s, m)
	}
}
