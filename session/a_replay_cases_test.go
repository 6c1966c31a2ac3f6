package session_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// copied is a store that takes the events of a session that was recorded elsewhere.
type copied struct {
	*logbook
	aggregate string
	recorded  []store.Event // the creation and notes
}

func newCopied(t *testing.T, notes int) copied {
	source := newLogbook(t)
	id := source.begin(notes)
	return copied{logbook: newLogbook(t), aggregate: id, recorded: source.events(id)}
}

func (c copied) replay(events []store.Event, options store.ReplayOptions) error {
	return c.Replay(c.t.Context(), events, options)
}

// take must succeed, under no owner.
func (c copied) take(events []store.Event) {
	c.t.Helper()
	if err := c.replay(events, store.ReplayOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// refuses holds that a replay changes nothing and wakes nobody, and answers why.
func (c copied) refuses(what string, events []store.Event, options store.ReplayOptions) error {
	c.t.Helper()
	before := sequences(c.events(c.aggregate))
	wake := c.Watch("")
	defer wake.Close()
	err := c.replay(events, options)
	if err == nil {
		c.t.Errorf("%s: it was taken", what)
	}
	equal(c.t, what+": events", before, sequences(c.events(c.aggregate)))
	select {
	case <-wake.C():
		c.t.Errorf("%s: somebody was woken", what)
	default:
	}
	return err
}

// misfits is refuses with a *store.ReplayError.
func (c copied) misfits(what string, events ...store.Event) {
	c.t.Helper()
	err := c.refuses(what, events, store.ReplayOptions{})
	if _, ok := errors.AsType[*store.ReplayError](err); !ok {
		c.t.Errorf("%s: %v, want a ReplayError", what, err)
	}
}

func (c copied) owner() string {
	c.t.Helper()
	page, err := c.Read(c.t.Context(), c.aggregate, -1, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	return page.Head.Owner
}

// TestReplayCases are the cases of taking in what was recorded elsewhere.
func TestReplayCases(t *testing.T) {
	sessiontest.Cases(t, "A", []sessiontest.Case{
		{Number: 19, Text: "A replay that is to tell nobody tells nobody.",
			Ours: "There is one kind of replay. It wakes those who follow the log, since there is something to read; no drain " +
				"starts, no provider and no tool is called, whatever the events ask for.", Run: replayStartsNothing},
		{Number: 20, Text: "Who follows a session gets a replayed event with the sequence it was recorded at, once, and nothing of an exact repetition.",
			Run: func(t *testing.T) {
				c := newCopied(t, 3)
				c.take(c.recorded[:2])
				tail := store.NewTail(c, c.aggregate, -1)
				defer tail.Close()
				equal(t, "history", []int64{0, 1}, c.follow(tail, 2, 10))
				c.take(c.recorded[:2])
				again, err := tail.Poll(t.Context(), 10)
				if err != nil || len(again.Events) > 0 {
					t.Errorf("of the repetition: %v, %v", sequences(again.Events), err)
				}
				c.take(c.recorded[2:])
				equal(t, "news", []int64{2, 3}, c.follow(tail, 2, 10))
			}},
		{Number: 22, Text: "An event that is replayed at its sequence once more, the same in id, kind and data, changes nothing.",
			Run: func(t *testing.T) {
				c := newCopied(t, 3)
				c.take(c.recorded)
				before := sessiontest.Tables(t, c)
				c.take(c.recorded[2:3])
				c.take(c.recorded)
				equal(t, "tables", before, sessiontest.Tables(t, c))
				equal(t, "events", []int64{0, 1, 2, 3}, sequences(c.events(c.aggregate)))
			}},
		{Number: 23, Text: "An event that is replayed where another one is stored, with another id or other data, is refused as diverged and wakes nobody.",
			Run: func(t *testing.T) {
				c := newCopied(t, 3)
				c.take(c.recorded)
				otherID, otherData := c.recorded[2], c.recorded[2]
				otherID.ID = c.id(session.PrefixEvent)
				otherData.Data = c.recorded[3].Data
				c.misfits("another id", otherID)
				c.misfits("other data", otherData)
				equal(t, "transcript", []string{"note 1", "note 2", "note 3"}, c.texts(c.aggregate))
			}},
		{Number: 25, Text: "A replayed event of a kind or version that this program does not know is refused, and what is beside it as well.",
			Run: func(t *testing.T) {
				c := newCopied(t, 3)
				kind, version := slices.Clone(c.recorded), slices.Clone(c.recorded)
				kind[2].Type, version[2].Version = "session.later.invention", 7
				for what, events := range map[string][]store.Event{"kind": kind, "version": version} {
					err := c.refuses(what, events, store.ReplayOptions{})
					if rejected, ok := errors.AsType[*store.RejectedError](err); !ok || rejected.Type != events[2].Type {
						t.Errorf("%s: %v", what, err)
					}
				}
			}},
		{Number: 26, Text: "A replayed event whose payload says that it belongs to another session is refused.",
			Ours: "No payload repeats its session, and one with a field that its kind does not have is refused.",
			Run: func(t *testing.T) {
				c := newCopied(t, 1)
				c.take(c.recorded[:1])
				foreign := c.recorded[1]
				foreign.Data = append([]byte(`{"session":"`+c.id(session.PrefixSession)+`",`), foreign.Data[1:]...)
				if _, ok := errors.AsType[*store.RejectedError](c.refuses("another session", []store.Event{foreign}, store.ReplayOptions{})); !ok {
					t.Error("it was not the projection that refused it")
				}
			}},
		{Number: 28, Text: "Events with a gap between them, or of two sessions, are refused before the first of them is applied.",
			Run: func(t *testing.T) {
				c, other := newCopied(t, 3), newCopied(t, 1)
				c.misfits("a gap", c.recorded[0], c.recorded[1], c.recorded[3])
				c.misfits("two sessions", c.recorded[0], other.recorded[1])
				equal(t, "tables", "", sessiontest.Tables(t, c))
			}},
		{Number: 29, Text: "A later run of events is taken when it begins right after the last stored one.",
			Run: func(t *testing.T) {
				c := newCopied(t, 5)
				c.take(c.recorded[:2])
				c.misfits("a gap to what is stored", c.recorded[3:]...)
				c.take(c.recorded[2:4])
				c.take(c.recorded[4:])
				equal(t, "transcript", []string{"note 1", "note 2", "note 3", "note 4", "note 5"}, c.texts(c.aggregate))
			}},
		{Number: 31, Text: "A session that A replays refuses B when B asks to be its only owner, also when B repeats exactly what is stored.",
			Run: func(t *testing.T) {
				c := newCopied(t, 2)
				if err := c.replay(c.recorded[:2], store.ReplayOptions{Owner: "A", Strict: true}); err != nil {
					t.Fatal(err)
				}
				for what, events := range map[string][]store.Event{"new": c.recorded[2:], "an exact repetition": c.recorded[:1]} {
					if err := c.refuses(what, events, store.ReplayOptions{Owner: "B", Strict: true}); !errors.Is(err, store.ErrReplayOwner) {
						t.Errorf("%s: %v", what, err)
					}
				}
			}},
		{Number: 32, Text: "A session without an owner gets the first one that replays it, also by an exact repetition; what another one replays later is skipped.",
			Run: func(t *testing.T) {
				for what, events := range map[string]func(copied) []store.Event{
					"new":                 func(c copied) []store.Event { return c.recorded[1:2] },
					"an exact repetition": func(c copied) []store.Event { return c.recorded[:1] },
				} {
					c := newCopied(t, 2)
					c.take(c.recorded[:1])
					equal(t, what+": owner before", "", c.owner())
					for _, owner := range []string{"A", "B"} {
						if err := c.replay(events(c), store.ReplayOptions{Owner: owner}); err != nil {
							t.Fatal(err)
						}
						equal(t, what+": owner after "+owner, "A", c.owner())
					}
					stored := sequences(c.events(c.aggregate))
					next := c.recorded[len(stored):]
					if err := c.replay(next, store.ReplayOptions{Owner: "B"}); err != nil {
						t.Fatal(err)
					}
					equal(t, what+": events after B", stored, sequences(c.events(c.aggregate)))
				}
			}},
	})
}

// replayStartsNothing takes in a prompt that asks for execution, and an interrupted
// activity before it.
func replayStartsNothing(t *testing.T) {
	source := newLogbook(t)
	id := source.begin(0)
	prompt := session.Prompt{Text: "Go"}
	source.write(id, session.ActivityStarted{Activity: source.id(session.PrefixActivity)},
		session.PromptAdmitted{Message: source.id(session.PrefixMessage), Prompt: prompt, Delivery: session.Steer, Wake: true},
		session.ResumeRequested{})
	w := sessiontest.New(t, sessiontest.Options{})
	wake := w.Log.Watch(id)
	defer wake.Close()
	if err := w.Log.Replay(t.Context(), source.events(id), store.ReplayOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-wake.C():
	default:
		t.Error("who follows the session was not woken")
	}
	equal(t, "drains", 0, len(w.Coordinator.Active()))
	equal(t, "requests", 0, len(w.Provider.Requests()))
	pending, err := w.Sessions.Inbox(t.Context(), id)
	if err != nil || len(pending) != 1 || pending[0].Prompt.Text != "Go" {
		t.Errorf("pending %+v, %v", pending, err)
	}
	page, err := w.Log.Read(t.Context(), id, -1, 100)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "events", []int64{0, 1, 2, 3}, sequences(page.Events))
}
