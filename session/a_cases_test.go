package session_test

import (
	"testing"

	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// TestLogCases are the cases of what is written and read.
func TestLogCases(t *testing.T) {
	sessiontest.Cases(t, "A", []sessiontest.Case{
		{Number: 1, Text: "The events of a session have the sequences 0, 1, 2 and so on, and those of another session begin at 0 again.",
			Run: func(t *testing.T) {
				l := newLogbook(t)
				first, second := l.begin(2), l.begin(0)
				l.write(first, l.note("again"))
				equal(t, "the first", []int64{0, 1, 2, 3}, sequences(l.events(first)))
				equal(t, "the second", []int64{0}, sequences(l.events(second)))
			}},
		{Number: 2, Text: "An event of a kind whose payload is in its second version is stored with that version, its aggregate and its sequence.",
			Ours: "Type and version are two fields of the event, not one name; the writer's program knows the version.", Run: storedVersion},
		{Number: 4, Text: "An event that is written within a Location carries that Location.",
			Ours: "Only the creation and the move of a session say where it works, in their payload; every other event happened " +
				"where the session was then.", Run: locationInPayload},
		{Number: 5, Text: "Whoever follows a session sees an event only when the tables have what follows from it.",
			Run: tablesBeforeFollowers},
		{Number: 7, Text: "What has to be written together with an event knows the event's final sequence and is in its transaction.",
			Ours: "There is no hook of the publisher: a projection of the kernel does it, and so replay does it again.", Run: projectionSequence},
		{Number: 8, Text: "When what has to be written together with an event fails, then the event, the tables and the sequence are as before.",
			Ours: "The projection refuses, and the whole batch with it; the appender gets its reason.", Run: projectionRefuses},
		{Number: 10, Text: "An observer that fails does not keep an event from being written, nor from the other observers.",
			Ours: "Those who follow get a wake without data and read the log; what runs code on each event is a view, which is " +
				"marked stale when it fails.", Run: observerFails},
		{Number: 11, Text: "An observer that breaks off while an event is given out does not take back the event.",
			Ours: "It does not reach the publisher either: a wake cannot fail, and the follower's context is its own.", Run: observerBreaksOff},
		{Number: 13, Text: "An event that names no session as its aggregate is refused and leaves no row.",
			Ours: "The aggregate is a field of the batch, so it cannot have another type; it can be empty or of a kind that has no such event.",
			Run:  aggregateMissing},
		{Number: 14, Text: "A cursor that is opened after sequence 2 gives 3 and 4, then what is written, each once.",
			Run: func(t *testing.T) {
				l := newLogbook(t)
				id := l.begin(4)
				tail := store.NewTail(l, id, 2)
				defer tail.Close()
				equal(t, "history", []int64{3, 4}, l.follow(tail, 2, 10))
				l.write(id, l.note("five"))
				l.begin(1)
				l.write(id, l.note("six"))
				equal(t, "news", []int64{5, 6}, l.follow(tail, 2, 10))
				rest, err := tail.Poll(t.Context(), 10)
				equal(t, "the rest", 0, len(rest.Events))
				if err != nil {
					t.Error(err)
				}
			}},
		{Number: 16, Text: "Three commits while a cursor is being read are one wake and still three events.",
			Run: coalescedWakes},
		{Number: 17, Text: "What is shown live only, such as the fragments of a text, never stands in the log.",
			Run: fragmentsAreNotStored},
		{Number: 34, Text: "The removal of a session takes its events and its rows.",
			Ours: "It leaves a tombstone: the id is refused for ever, so no cursor or reference meets a second history under it.", Run: tombstone},
		{Number: 35, Text: "A follower that is far behind does not hold up the others.",
			Ours: "It has no queue that could overflow: it reads the log from its own sequence, however far behind it is.", Run: slowFollower},
	})
}
