package session_test

import (
	"testing"

	"github.com/plinthhost/plinth/session/sessiontest"
)

// TestProjectionCases are the cases of what events make of the kernel's tables.
func TestProjectionCases(t *testing.T) {
	sessiontest.Cases(t, "B", []sessiontest.Case{
		{Number: 37, Text: "A prompt that was admitted and is promoted some events later becomes a message with the sequence of the promotion " +
			"and the time of the admission.", Run: atDesk(promotedPlace)},
		{Number: 38, Text: "A second event that would make a message of the same id is refused, also when the id is that of a prompt that waits; the " +
			"first message stays as it is.", Run: atDesk(secondCreator)},
		{Number: 40, Text: "A step begins while an older one is open and a newer one is done: the older one stays open.",
			Ours: "The start of a step closes no other one, not the newest either; that is done by a step's own end or failure, and by the recovery.",
			Run:  atDesk(stepClosesNothing)},
		{Number: 41, Text: "An event of a text, a call or a step whose message does not exist changes nothing and is no failure.",
			Run: atDesk(unknownMessage)},
		{Number: 43, Text: "The raw arguments of a call that arrive when it runs already do not replace its input.",
			Ours: "Once the call has settled, the same id names another call, which is pending.", Run: atDesk(runningInput)},
		{Number: 44, Text: "The progress of a running call replaces what it showed before; that of a pending or settled one is ignored.",
			Ours: "Progress is live only and no event, so no table can hold it.", Run: atDesk(progressIsLive)},
		{Number: 46, Text: "A call that fails while it is pending has the input {} and neither a structured value nor content.",
			Run: atDesk(pendingFails)},
		{Number: 47, Text: "What the provider says of a call and what it says of the result are kept beside each other, and a second result is refused.",
			Run: atDesk(metadataApart)},
		{Number: 49, Text: "Of two commands of a person that began under one call id, the end completes the newer.", Run: atDesk(newestShell)},
		{Number: 50, Text: "A compaction that began is no message yet; one that ended is one message, with the sequence of its end.",
			Run: atDesk(compactionMessage)},
		{Number: 52, Text: "A move changes the session's place, ends its context epoch and adds no message.", Run: atDesk(movedPlace)},
		{Number: 53, Text: "A switch of the agent or of the model changes the session and adds one message, both at once.", Run: atDesk(switched)},
	})
}
