package main

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
)

// TestInboxOverTheBackend: what the wire says of a prompt that waits and what becomes
// of it.
func TestInboxOverTheBackend(t *testing.T) {
	r := newRig(t)
	id, caller, hold := r.session(), server.Caller{Actor: "token:ann"}, false
	var ids []string
	for _, text := range []string{"one", "two", "three"} {
		receipt, err := promptService{r.backend}.Admit(r.within(), caller, id,
			protocol.Prompt{PromptBody: protocol.PromptBody{Text: text}, Delivery: protocol.Queue, Resume: &hold})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, receipt.ID)
	}
	changed, err := waitingService{r.backend}.Change(r.within(), caller, id, ids[2], protocol.ChangePrompt{
		Prompt: &protocol.PromptBody{Text: "3"}, Delivery: protocol.Steer, Before: &ids[0]})
	if err != nil || changed.Prompt.Text != "3" || changed.Delivery != protocol.Steer {
		t.Errorf("%+v, %v", changed, err)
	}
	cancelled, err := waitingService{r.backend}.Cancel(r.within(), caller, id, ids[1])
	if err != nil || cancelled.CancelledSeq == nil {
		t.Errorf("%+v, %v", cancelled, err)
	}
	inbox, err := promptService{r.backend}.Inbox(r.within(), id)
	var texts []string
	for _, receipt := range inbox.Pending {
		texts = append(texts, receipt.Prompt.Text)
	}
	if !slices.Equal(texts, []string{"3", "one"}) || err != nil || inbox.Cursor != cancelled.Cursor {
		t.Errorf("%v, %v", texts, err)
	}
	if _, err := (waitingService{r.backend}).Cancel(r.within(), caller, id, ids[1]); !errors.Is(err, &protocol.Error{Code: protocol.Conflict}) {
		t.Errorf("again: %v", err)
	}
	if _, err := (waitingService{r.backend}).Cancel(r.within(), caller, r.session(), ids[0]); !errors.Is(err, &protocol.Error{Code: protocol.NotFound}) {
		t.Errorf("in another session: %v", err)
	}
	if _, err := (promptService{r.backend}).Wait(r.within(), id, ids[1]); !errors.Is(err, &protocol.Error{Code: protocol.Conflict}) {
		t.Errorf("waiting for a cancelled prompt: %v", err)
	}
}

// TestSessionOnTheWire: a session tells of its family, its work and what it used.
func TestSessionOnTheWire(t *testing.T) {
	r := newRig(t)
	caller := server.Caller{Actor: "token:ann"}
	rules := []protocol.Rule{{Action: "bash", Resource: "*", Effect: protocol.Deny}}
	budgets := []protocol.Budget{{Turns: 9, Per: "session", Action: "stop"}}
	made, _, err := sessionService{r.backend}.Create(r.within(), caller, protocol.CreateSession{Rules: rules, Budgets: budgets})
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(made.Rules, rules) || !cmp.Equal(made.Budgets, budgets) || made.Activity != nil {
		t.Errorf("%+v", made)
	}
	child, _, err := r.backend.sessions.Create(r.within(), session.System(), session.CreateRequest{Directory: made.Location.Directory, Parent: made.ID, Depth: 1})
	if err != nil {
		t.Fatal(err)
	}
	children, err := reportService{r.backend}.Children(r.within(), made.ID)
	if err != nil || len(children.Sessions) != 1 || children.Sessions[0].ID != child.ID || children.Sessions[0].Parent != made.ID {
		t.Errorf("%+v, %v", children, err)
	}
	r.settled(child.ID, "count 1")
	usage, err := reportService{r.backend}.Usage(r.within(), made.ID)
	if err != nil || usage.Turns == 0 || usage.Usage.Input == 0 || usage.Unpriced != 0 || usage.CostNano != 0 { // the offline model is free
		t.Errorf("%+v, %v", usage, err)
	}
	shown, err := sessionService{r.backend}.Get(r.within(), made.ID)
	if err != nil || shown.Usage == nil || *shown.Usage != usage.Usage {
		t.Errorf("%+v, %v", shown, err)
	}
	list, err := sessionService{r.backend}.Messages(r.within(), child.ID, protocol.ListMessages{Limit: 100, Timeline: true})
	var types []protocol.PartType
	for _, message := range list.Messages {
		for _, part := range message.Parts {
			types = append(types, part.Type)
		}
	}
	if want := []protocol.PartType{"text", "step_start", "text", "step_finish"}; !slices.Equal(types, want) || err != nil {
		t.Errorf("%v, %v", types, err)
	}
	request := r.asked(child.ID)
	working, err := sessionService{r.backend}.Get(r.within(), child.ID)
	if err != nil || working.Activity == nil || working.Activity.State != protocol.ActivityRunning || working.Activity.Turns != 1 {
		t.Errorf("%+v, %v", working.Activity, err)
	}
	if _, err := (permissionService{r.backend}).Reply(r.within(), caller, request, protocol.PermissionReply{Reply: protocol.AnswerOnce}); err != nil {
		t.Fatal(err)
	}
	r.idle(child.ID)
}
