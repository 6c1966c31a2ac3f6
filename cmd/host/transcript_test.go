package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// TestTranscriptsAgree: what a client makes of the events is what the host shows, for
// every kind of message.
func TestTranscriptsAgree(t *testing.T) {
	r := newRig(t)
	id := r.session()
	r.settled(id, "read .env.example then count 2")
	ids := session.NewIDs(session.SystemClock{})
	made := func() string { return ids.New(session.PrefixMessage) }
	held := r.backend.sessions
	input, err := held.Admit(r.within(), session.System(), session.PromptRequest{Session: id, Prompt: session.Prompt{Text: "later"}, AdmitOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	step, exit, cost := made(), 2, int64(12)
	failure := session.Failure{Code: session.ProviderRateLimit, Message: "slow down", Status: 429, Retryable: true}
	encoder := session.Encoder{IDs: ids, Clock: session.SystemClock{}}
	for _, payload := range []session.Payload{
		session.Synthetic{Message: made(), Text: "By the way", Description: "from the host", Ignored: true},
		session.AgentSwitched{Message: made(), Agent: "plan"},
		session.ModelSwitched{Message: made(), Model: session.ModelRef{Provider: "p", Model: "m", Variant: "v"}},
		session.ShellStarted{Message: made(), Call: "c", Command: "ls"}, session.ShellStarted{Message: made(), Call: "c", Command: "ls -l"},
		session.ShellEnded{Call: "c", Output: "total 0", Exit: &exit},
		session.CompactionStarted{Message: made(), Reason: session.CompactionAuto},
		session.CompactionFailed{Message: made(), Reason: session.CompactionAuto, Error: failure},
		session.CompactionEnded{Message: made(), Reason: session.CompactionManual, Summary: "So far nothing", Usage: &session.Usage{Input: 3}, Cost: &cost},
		session.ActivityStarted{Activity: "act_1", Opener: session.OpenedByResume},
		session.PromptPromoted{Message: input.ID, Prompt: input.Prompt, Created: input.Created},
		session.TurnStarted{Activity: "act_1", Turn: 1, Step: 1, Attempt: 1}, session.RetryScheduled{Activity: "act_1", Turn: 1, Attempt: 2, At: 1_700_000_000_000, Error: failure},
		session.TurnStarted{Activity: "act_1", Turn: 1, Step: 1, Attempt: 2}, session.StepStarted{Message: step, Agent: "plan"},
		session.ToolCalled{Message: step, Call: "t", Name: "search", Input: json.RawMessage(`{}`), Hosted: true},
		session.ToolSucceeded{Message: step, Call: "t", Title: "found", Outputs: []string{"/tmp/o"}, Diagnostic: "half of it"},
		session.ResultsPruned{Calls: []session.CallRef{{Message: step, Call: "t"}, {Message: step, Call: "gone"}, {Message: "msg_gone", Call: "t"}}},
		session.TaskStarted{Message: step, Call: "t", Session: "ses_child", Prompt: "msg_child", Agent: "explore", Description: "look", Background: true},
		session.ToolInputEnded{Message: step, Call: "u", Name: "read", Text: `{"pa`},
		session.ToolFailed{Message: step, Call: "u", Error: session.ToolError{Kind: "cancelled", Message: "broke off"}},
		session.StepEnded{Message: step, Finish: session.FinishToolCalls, Usage: &session.Usage{Input: 4}, Cost: &cost, Files: []session.FileDiff{{Path: "a.go", Additions: 2, Deletions: 1}}},
	} {
		events, err := encoder.Encode(session.System(), payload)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.Append(r.within(), store.Batch{Aggregate: id, Mode: store.Any(), Events: events}); err != nil {
			t.Fatal(err)
		}
	}
	page, err := eventService{r.backend}.Read(r.within(), id, -1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var transcript client.Transcript
	for _, event := range page.Events {
		if err := transcript.Event(event); err != nil {
			t.Fatal(err)
		}
	}
	list, err := sessionService{r.backend}.Messages(r.within(), id, protocol.ListMessages{Limit: 200})
	if err != nil || len(list.Messages) < 11 {
		t.Fatalf("%d messages, %v", len(list.Messages), err)
	}
	if diff := cmp.Diff(list.Messages, transcript.Messages); diff != "" {
		t.Errorf("the transcript of the events (-host +client):\n%s", diff)
	}
}
