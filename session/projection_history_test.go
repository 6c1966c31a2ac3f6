package session_test

import (
	"testing"

	"github.com/plinthhost/plinth/session"
)

// What a session's row tells of its history, after each event.
func TestTheRowOfAHistory(t *testing.T) {
	d := newDesk(t, session.SessionOptions{})
	id := d.create()
	type row struct {
		compact, rewritten, answered int64
		compacting                   bool
	}
	message := d.id(session.PrefixMessage)
	began := session.ActivityStarted{Activity: "act_1", Opener: session.OpenedByPrompt}
	ended := func(outcome session.Outcome) session.ActivityEnded {
		return session.ActivityEnded{Activity: "act_1", Outcome: outcome}
	}
	started := session.CompactionStarted{Message: message, Reason: session.CompactionManual}
	for _, c := range []struct {
		payload session.Payload
		want    row // 1 stands for the sequence of this event, -2 for that of an earlier one
	}{
		{began, row{-1, -1, -1, false}},
		{ended(session.Failed), row{-1, -1, -1, false}},
		{began, row{-1, -1, -1, false}},
		{ended(session.Completed), row{-1, -1, 1, false}},
		{session.CompactionRequested{}, row{1, -1, -2, false}},
		{session.InterruptRequested{}, row{-1, -1, -2, false}},
		{session.CompactionRequested{}, row{1, -1, -2, false}},
		{started, row{-1, -1, -2, true}},
		{session.CompactionFailed{Message: message}, row{-1, -1, -2, false}},
		{started, row{-1, -1, -2, true}},
		{session.CompactionEnded{Message: message, Reason: session.CompactionManual, Boundary: 1}, row{-1, 1, -2, false}},
		{session.ResultsPruned{}, row{-1, 1, -2, false}},
		{session.MessageImported{Message: session.Message{ID: d.id(session.PrefixMessage), Type: session.MessageUser}}, row{-1, -2, 1, false}},
	} {
		seq := d.append(id, c.payload)[0].Seq
		s := d.session(id)
		told := func(n int64) int64 {
			switch {
			case n == seq:
				return 1
			case n >= 0:
				return -2
			}
			return n
		}
		if got := (row{told(s.Compact), told(s.Rewritten), told(s.Answered), s.Compacting != nil}); got != c.want {
			t.Errorf("%d %s: %+v, want %+v", seq, c.payload.EventType(), got, c.want)
		}
	}
}
