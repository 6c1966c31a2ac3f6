package session_test

import (
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// A fork has the history that its parent's model was sent, and nothing else of it.
func TestAForkHasTheHistoryOfItsParent(t *testing.T) {
	r := newLifeRig(t, "")
	id := r.Create()
	r.put(id, session.Renamed{Title: "A talk"}, session.TodosChanged{Todos: []session.Todo{{ID: "1", Content: "one", Status: "pending"}}})
	r.rounds(id, 6, 10)
	r.compact(id)
	r.rounds(id, 2, 20<<10) // beyond what a row of the log holds
	r.put(id, session.Reminded{Message: r.message(), Text: "be brief"},
		session.ContextInitialized{Baseline: "b", Snapshot: session.Snapshot{}},
		session.ContextUpdated{Message: r.message(), Text: "the epoch's", Changed: session.Snapshot{}})
	r.rounds(id, 1, 10)
	unfinished := r.round("unfinished", 10)
	r.put(id, unfinished[:5]...) // an answer that runs

	want := r.history(id)
	want = slices.DeleteFunc(want, func(m session.Message) bool {
		return m.Text == "the epoch's" || m.Type == session.MessageAssistant && m.Completed == 0
	})
	fork := r.fork(session.ForkRequest{Session: id})
	if diff := cmp.Diff(saidIn(want), saidIn(r.history(fork.ID)), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("history (-parent +fork):\n%s", diff)
	}
	last := want[len(want)-1]
	if diff := cmp.Diff(&session.Fork{Session: id, Message: last.ID, Seq: last.Seq}, fork.Fork); diff != "" {
		t.Error(diff)
	}
	if fork.Title != "A talk (fork)" || fork.Slug == "" || fork.Parent != "" || fork.Location.Directory != "/work" {
		t.Errorf("fork %+v", fork)
	}
	if totals, err := r.Sessions.Totals(t.Context(), fork.ID); err != nil || totals != (session.Totals{}) {
		t.Errorf("totals %+v, %v", totals, err)
	}
	if waiting, err := r.Sessions.Inbox(t.Context(), fork.ID); err != nil || len(waiting) != 0 {
		t.Errorf("inbox %+v, %v", waiting, err)
	}
	for i, message := range r.Messages(fork.ID) {
		if message.ID == want[i].ID || session.CheckID(session.PrefixMessage, message.ID) != nil {
			t.Errorf("message %d has the id %s, in the parent %s", i, message.ID, want[i].ID)
		}
	}
}

// A summary may stand behind the boundary of the next one, which has it in itself: it is
// taken over by neither a fork nor a pruning.
func TestAnOlderSummaryStaysBehind(t *testing.T) {
	r := newLifeRig(t, "")
	id := r.Create()
	r.rounds(id, 4, 10)
	messages := r.Messages(id)
	r.put(id, session.CompactionEnded{Message: r.message(), Reason: session.CompactionAuto, Summary: "older", Boundary: messages[1].Seq},
		session.CompactionEnded{Message: r.message(), Reason: session.CompactionOverflow, Summary: "newest", Boundary: messages[3].Seq})
	r.rounds(id, 1, 10)
	want := saidIn(r.history(id))
	if n := len(want); n != 1+4+2 || want[0].Text != "newest" {
		t.Fatalf("the history has %d messages, and begins with %+v", n, want[0])
	}
	fork := r.fork(session.ForkRequest{Session: id})
	if diff := cmp.Diff(want, saidIn(r.history(fork.ID)), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the fork (-parent +fork):\n%s", diff)
	}
	if pruning, err := r.Sessions.Prune(t.Context(), session.System(), id); err != nil || !pruning.Pruned {
		t.Fatalf("%+v, %v", pruning, err)
	}
	if diff := cmp.Diff(want, saidIn(r.history(id)), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the pruned session (-before +after):\n%s", diff)
	}
}

// A fork at an earlier message has the history of that time, before and after a
// compaction.
func TestAForkAtAMessage(t *testing.T) {
	r := newLifeRig(t, "")
	id := r.Create()
	r.rounds(id, 3, 10)
	early, earlyHistory := r.Messages(id)[3], r.history(id)[:4]
	r.rounds(id, 2, 10)
	r.compact(id)
	compacted := r.history(id)
	after := compacted[len(compacted)-1]
	r.rounds(id, 2, 10)
	r.compact(id)
	r.rounds(id, 1, 10)
	for _, c := range []struct {
		at   session.Message
		want []session.Message
	}{{early, earlyHistory}, {r.Messages(id)[10], compacted}} {
		fork := r.fork(session.ForkRequest{Session: id, Message: c.at.ID})
		if diff := cmp.Diff(saidIn(c.want), saidIn(r.history(fork.ID)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("at %s (-want +got):\n%s", c.at.ID, diff)
		}
		if fork.Fork.Message != c.at.ID || fork.Fork.Seq != c.at.Seq {
			t.Errorf("fork %+v", fork.Fork)
		}
	}
	if compaction := r.Messages(id)[10]; compaction.Type != session.MessageCompaction || compaction.Seq < after.Seq {
		t.Fatalf("message 10 is %+v", compaction)
	}
}

// A fork outlives its parent, is forked itself, and works.
func TestAForkIsASessionOfItsOwn(t *testing.T) {
	r := newLifeRig(t, "")
	id := r.Create()
	r.rounds(id, 3, 10)
	r.compact(id)
	fork := r.fork(session.ForkRequest{Session: id, Title: new("  Mine "), Directory: "/elsewhere"})
	if fork.Title != "Mine" || fork.Location.Directory != "/elsewhere" {
		t.Errorf("fork %+v", fork)
	}
	want := r.history(fork.ID)
	if err := r.Log.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := r.Log.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, r.history(fork.ID)); diff != "" {
		t.Error(diff)
	}
	second := r.fork(session.ForkRequest{Session: fork.ID})
	if diff := cmp.Diff(saidIn(want), saidIn(r.history(second.ID))); diff != "" || second.Title != "Mine (fork)" {
		t.Errorf("a fork of the fork, titled %s:\n%s", second.Title, diff)
	}
	r.Provider.Script(sessiontest.Say("on we go"))
	r.Prompt(second.ID, "and now?", session.Steer)
	r.Settled(second.ID, 1)
	request := r.Provider.Requests()[0]
	if len(request.Messages) < len(want) {
		t.Errorf("the model was sent %d messages of %d", len(request.Messages), len(want))
	}

	// It replays alone.
	page, err := r.Log.Read(t.Context(), second.ID, -1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	other := newLifeRig(t, "")
	if err := other.Log.Replay(t.Context(), page.Events, store.ReplayOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.history(second.ID), other.history(second.ID)); diff != "" {
		t.Error(diff)
	}
}

func TestAForkIsRepeatedAndRefused(t *testing.T) {
	r := newLifeRig(t, "")
	id, other := r.Create(), r.Create()
	r.rounds(id, 2, 10)
	messages := r.Messages(id)
	request := session.ForkRequest{Session: id, Message: messages[1].ID, ID: r.Encoder.IDs.New(session.PrefixSession)}
	first := r.fork(request)
	again, created, err := r.Sessions.Fork(t.Context(), session.System(), request)
	if err != nil || created || !cmp.Equal(first, again) {
		t.Errorf("again: %v, created %v\n%s", err, created, cmp.Diff(first, again))
	}
	used := request
	used.ID = other
	gone := request
	gone.ID = r.Encoder.IDs.New(session.PrefixSession)
	if err := r.Log.Delete(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	elsewhere := request
	elsewhere.Message = messages[2].ID
	for name, c := range map[string]struct {
		request session.ForkRequest
		want    string
	}{
		"another session's id":  {used, "another session"},
		"a deleted id":          {gone, "a session that was deleted"},
		"another message":       {elsewhere, "another session"},
		"no such session":       {session.ForkRequest{Session: "ses_x"}, "not found"},
		"no such message":       {session.ForkRequest{Session: id, Message: "msg_x"}, "not found"},
		"a title of many lines": {session.ForkRequest{Session: id, Title: new("a\nb")}, "one line"},
		"an empty title":        {session.ForkRequest{Session: id, Title: new("")}, "title is empty; give 1 to 200 characters"},
		"no id":                 {session.ForkRequest{Session: id, ID: "x"}, "not an id"},
	} {
		if _, _, err := r.Sessions.Fork(t.Context(), session.System(), c.request); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A history that is too long is refused whole, by its messages and by its bytes.
func TestAForkHasLimits(t *testing.T) {
	r := newLifeRig(t, "")
	many, large := r.Create(), r.Create()
	for range session.MaxImportedMessages / 1000 {
		var payloads []session.Payload
		for range 1000 {
			payloads = append(payloads, session.Synthetic{Message: r.message(), Text: "one"})
		}
		r.put(many, payloads...)
	}
	whole := r.fork(session.ForkRequest{Session: many})
	if n := len(r.Messages(whole.ID)); n != session.MaxImportedMessages {
		t.Errorf("%d messages", n)
	}
	r.put(many, session.Synthetic{Message: r.message(), Text: "one more"})
	for range 33 {
		r.put(large, session.Synthetic{Message: r.message(), Text: strings.Repeat("x", 1<<20)})
	}
	for _, id := range []string{many, large} {
		_, _, err := r.Sessions.Fork(t.Context(), session.System(), session.ForkRequest{Session: id})
		if conflict, ok := errors.AsType[*session.ConflictError](err); !ok || conflict.Fix != "compact it first" {
			t.Errorf("%v", err)
		}
	}
}

// The fork of a long session costs what its history does, not what it was.
func TestAForkOfALongSession(t *testing.T) {
	r := newLifeRig(t, "")
	id := r.Create()
	rounds := 1000
	if os.Getenv("PLINTH_LONG") != "" {
		rounds = 12_500 // 100,000 events
	}
	for done := 0; done < rounds; done += 125 {
		r.rounds(id, 125, 2000)
		messages := r.lastMessages(id, 8)
		r.put(id, session.CompactionEnded{Message: r.message(), Reason: session.CompactionAuto, Summary: "what was",
			Boundary: messages[5].Seq, Kept: []string{messages[0].ID, messages[2].ID}})
	}
	r.rounds(id, 60, 2000)
	fastest := time.Duration(math.MaxInt64)
	for range 5 {
		began := time.Now()
		fork := r.fork(session.ForkRequest{Session: id})
		fastest = min(fastest, time.Since(began))
		if n := len(r.Messages(fork.ID)); n != 1+2+2+120 {
			t.Fatalf("%d messages", n)
		}
	}
	t.Logf("the fastest fork took %v", fastest)
}

// lastMessages are the newest n, oldest first.
func (r *lifeRig) lastMessages(id string, n int) []session.Message {
	r.t.Helper()
	page, err := r.Log.Read(r.t.Context(), id, math.MaxInt64-1, 1)
	if err != nil {
		r.t.Fatal(err)
	}
	messages, err := r.Sessions.Messages(r.t.Context(), id, max(page.Head.Seq-100, -1), 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	return messages[len(messages)-n:]
}
