package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

func TestCompactCommand(t *testing.T) {
	r := newRig(t)
	r.configure("[compaction]\nkeep = 0\n")
	r.restart()
	id := r.session()
	if _, err := r.command("sessions", "compact", id, "--wait"); err == nil || !strings.Contains(err.Error(), "nothing to condense") ||
		!strings.Contains(err.Error(), "("+session.FailureCompaction+", session "+id+")") || exitCode(err) != exitActivity {
		t.Errorf("an empty session: %v, exit %d", err, exitCode(err))
	}
	r.settled(id, "repeat "+strings.Repeat("word ", 2_000))
	r.settled(id, "count 2")
	printed, err := r.command("sessions", "compact", id, "--wait")
	if err != nil || !strings.HasPrefix(printed, "Offline summary of 2 requests. The last one was: count 2") {
		t.Errorf("printed %q, %v", printed, err)
	}
	list, err := sessionService{r.backend}.Messages(r.within(), id, protocol.ListMessages{Limit: 200})
	if err != nil || list.Messages[len(list.Messages)-1].Type != protocol.MessageCompaction {
		t.Fatalf("%+v, %v", list.Messages, err)
	}
	// What it goes on with is the summary.
	r.settled(id, "repeat "+strings.Repeat("again ", 2_000))
	r.settled(id, "count 3")
	printed, err = r.command("sessions", "compact", id, "--wait", "--json")
	var event struct {
		Type string                  `json:"type"`
		Data session.CompactionEnded `json:"data"`
	}
	if err := errors.Join(err, json.Unmarshal([]byte(printed), &event)); err != nil || event.Data.Reason != session.CompactionManual || event.Type != "session.compaction.ended" {
		t.Errorf("printed %q, %v", printed, err)
	}
	if printed, err := r.command("sessions", "compact", id); err != nil || !strings.Contains(printed, id+"  compaction requested") {
		t.Errorf("printed %q, %v", printed, err)
	}
	r.await(id, event.Data.Boundary, func(payload session.Payload) bool {
		failed, ok := payload.(session.CompactionFailed)
		return ok && failed.Reason == session.CompactionManual
	})
	if _, err := r.command("sessions", "compact", "ses_none", "--wait"); err == nil {
		t.Error("a session that is not there was compacted")
	}
}
