package session_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// TestInboxCases are the cases of how a prompt is admitted and promoted.
func TestInboxCases(t *testing.T) {
	sessiontest.Cases(t, "C", []sessiontest.Case{
		{Number: 55, Text: "A prompt that is sent twice without an id is admitted twice, under two ids, and is no message yet.",
			Run: atDesk(admittedTwice)},
		{Number: 56, Text: "A prompt that is sent again under its id, with the same body and delivery, answers the same receipt and is no second event.",
			Run: atDesk(exactRetry)},
		{Number: 58, Text: "Exact submissions of one prompt at the same time all get the same receipt and are one event.",
			Run: atDesk(concurrentSubmissions)},
		{Number: 59, Text: "A prompt that was admitted without asking for execution is sent again and asks for it: it is woken once.",
			Ours: "The wake is an event, session.prompt.woken, so the wish outlives the process and counts against an interrupt by its sequence; " +
				"the coordinator is told that sequence however often the prompt is sent.", Run: atDesk(retryWakes)},
		{Number: 61, Text: "A prompt to a session that is not there is answered with not found and leaves no event.", Run: atDesk(missingSession)},
		{Number: 62, Text: "The receipt of a prompt that was promoted, and is sent again, has the sequence of its promotion.", Run: atDesk(promotedReceipt)},
		{Number: 64, Text: "Of two steers, one admitted before a boundary's cutoff and one after it, that boundary promotes the first alone.",
			Ours: "The cutoff is the read that the boundary begins with: what is admitted while the context is sampled waits for the next boundary.",
			Run:  cutoff},
		{Number: 65, Text: "A prompt that two promote at the same time has one promotion and is one message.",
			Ours: "The second is refused with a conflict, and nothing of its batch is written.", Run: atDesk(twoPromotions)},
		{Number: 67, Text: "Something that follows the log fails at a promotion: the drain goes on, and the provider sees the prompt.",
			Ours: "What follows a commit is a wake, which cannot fail, or a view, which is marked stale.", Run: promotedDespiteViews},
		{Number: 68, Text: "A prompt that waits is replayed into an empty store: there it waits too, is no message, and nobody is woken.",
			Run: atDesk(replayedInbox)},
		{Number: 70, Text: "A compatibility event makes a prompt, and its exact retry answers the receipt.",
			Ours: "That event, and the older system that it bridges to, do not exist: its type is refused like any unknown one.", Run: atDesk(compatibility)},
		{Number: 71, Text: "A file of a prompt that names no media type is admitted with the type of its data, or of its name.",
			Ours: "A file is uploaded first, and its bytes have to fit the type that is stated then; a prompt that leaves the type out is refused. " +
				"What was admitted is stored as it was sent, and a retry is not checked again.", Run: promptFiles},
	})
}

// cutoff holds the inbox, and a boundary that takes from it, to the sequences of
// admissions.
func cutoff(t *testing.T) {
	t.Run("the inbox", atDesk(func(t *testing.T, d *desk, id string) {
		one := d.held(id, "one", session.Steer)
		d.append(id, session.InterruptRequested{})
		boundary := d.events(id)[2].Seq
		two := d.held(id, "two", session.Steer)
		if one.Admitted >= boundary || two.Admitted <= boundary {
			t.Fatalf("%d, %d, boundary %d", one.Admitted, two.Admitted, boundary)
		}
		d.promote(one)
		equal(t, "waits", []string{"two"}, d.texts(id))
	}))
	t.Run("a boundary", boundaryCutoff)
}

// boundaryCutoff admits a steer while the first boundary samples the context.
func boundaryCutoff(t *testing.T) {
	config := runner.DefaultConfig()
	config.ContextTimeout = time.Minute
	w := sessiontest.New(t, sessiontest.Options{Config: config})
	late := make(chan session.Input, 1)
	var once sync.Once
	w.Contribute("core/slow", w.Kinds.Contexts.Contribute("core/slow", 0, sessiontest.Source{Names: []string{"core/slow"},
		Run: func(ctx context.Context, observed session.Observation) (states []session.SourceState, err error) {
			once.Do(func() {
				var input session.Input
				input, err = w.Sessions.Admit(ctx, session.System(),
					session.PromptRequest{Session: observed.Session, Prompt: session.Prompt{Text: "late"}})
				late <- input
			})
			return []session.SourceState{{Key: "core/slow", State: session.SourceValue, Value: raw(`1`), Baseline: "Known."}}, err
		}}))
	w.Provider.Script(sessiontest.Say("First"), sessiontest.Say("Second"))
	id := w.Create()
	early := w.Prompt(id, "early", session.Steer)
	events := w.Settled(id, 1)
	equal(t, "requests", 2, len(w.Provider.Requests()))
	equal(t, "the first request", []string{"early"}, promptsOf(w, 0))
	equal(t, "the second request", []string{"early", "late"}, promptsOf(w, 1))
	admitted := <-late
	first, second := promotedAt(t, w, early.ID), promotedAt(t, w, admitted.ID)
	step := events[slices.IndexFunc(events, func(e store.Event) bool { return e.Type == session.StepEnded{}.EventType() })]
	if admitted.Admitted >= first || second <= step.Seq {
		t.Errorf("admitted at %d while a boundary was under way that is recorded at %d; promoted at %d, after a turn that ended at %d",
			admitted.Admitted, first, second, step.Seq)
	}
}

// promptsOf are the texts of a request's user messages.
func promptsOf(w *sessiontest.World, request int) (texts []string) {
	for _, message := range w.Provider.Requests()[request].Messages {
		for _, part := range message.Parts {
			if message.Role == session.RoleUser {
				texts = append(texts, part.Text)
			}
		}
	}
	return texts
}

func promotedAt(t *testing.T, w *sessiontest.World, id string) int64 {
	t.Helper()
	input, err := w.Sessions.Input(t.Context(), id)
	if err != nil || input.Promoted == nil {
		t.Fatalf("%+v, %v", input, err)
	}
	return *input.Promoted
}

func promotedDespiteViews(t *testing.T) {
	promotion := session.PromptPromoted{}.EventType()
	for name, on := range map[string]string{"fails at the promotion": promotion, "fails always": ""} {
		t.Run(name, func(t *testing.T) {
			w := sessiontest.New(t, sessiontest.Options{Views: []sqlite.View{failingView{on: on}}})
			w.Provider.Script(sessiontest.Say("Hello"))
			id := w.Create()
			equal(t, "stale before", on == "", len(w.Log.StaleViews()) == 1)
			w.Prompt(id, "Hi", session.Steer)
			events := w.Settled(id, 1)
			equal(t, "the request", []string{"Hi"}, promptsOf(w, 0))
			ended, err := session.Decode(events[len(events)-1])
			if got, ok := ended.(session.ActivityEnded); err != nil || !ok || got.Outcome != session.Completed {
				t.Errorf("ended with %+v, %v", ended, err)
			}
			if m := w.Messages(id); len(m) != 2 || m[0].Prompt.Text != "Hi" || m[1].Parts[0].Text != "Hello" {
				t.Errorf("%+v", m)
			}
			if stale := w.Log.StaleViews(); len(stale) != 1 || stale[0].Name != "broken" {
				t.Errorf("%+v", stale)
			}
		})
	}
}
