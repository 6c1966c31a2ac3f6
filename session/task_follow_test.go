package session

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTheEndOfATaskInTheLogOfItsChild(t *testing.T) {
	failure := &Failure{Code: FailureContextBlocked, Message: "blocked"}
	mine, other := PromptPromoted{Message: "mine"}, PromptPromoted{Message: "other"}
	began, interrupt := ActivityStarted{Activity: "act_1"}, InterruptRequested{}
	ended := func(outcome Outcome, err *Failure) Payload {
		return ActivityEnded{Activity: "act_1", Outcome: outcome, Error: err}
	}
	text := func(message, text string) Payload { return TextEnded{Message: message, Text: text} }
	for _, c := range []struct {
		name string
		log  []Payload
		want *taskEnd
	}{
		{"nothing yet", nil, nil},
		{"promoted and at work", []Payload{began, mine, text("a", "x")}, nil},
		{"parked by a shutdown", []Payload{began, mine, ActivitySuspended{}, ActivityRecovered{}}, nil},
		{"completed", []Payload{began, mine, text("a", "first"), text("b", "se"), text("b", "cond"), ended(Completed, nil)},
			&taskEnd{outcome: Completed, text: "second"}},
		{"the last message without a text", []Payload{began, mine, text("a", "first"), StepStarted{Message: "b"}, ended(Completed, nil)},
			&taskEnd{outcome: Completed, text: "first"}},
		{"joined an activity that ran", []Payload{text("a", "other's"), mine, text("b", "mine"), ended(Completed, nil)},
			&taskEnd{outcome: Completed, text: "mine"}},
		{"an activity that ran ended without it", []Payload{ended(Failed, failure), began, mine, ended(Completed, nil)},
			&taskEnd{outcome: Completed}},
		{"another prompt's activity came first", []Payload{began, other, ended(Completed, nil)}, nil},
		{"interrupted at work", []Payload{began, mine, interrupt, text("a", "half"), ended(Interrupted, failure)},
			&taskEnd{outcome: Interrupted, failure: failure, text: "half"}},
		{"interrupted before it was promoted", []Payload{interrupt}, &taskEnd{outcome: Interrupted, waiting: true}},
		{"interrupted while its activity begins", []Payload{began, interrupt, ended(Interrupted, failure)},
			&taskEnd{outcome: Interrupted, failure: failure, waiting: true}},
		{"an activity without a context", []Payload{began, ended(Failed, failure)}, &taskEnd{outcome: Failed, failure: failure, waiting: true}},
		{"cancelled", []Payload{PromptCancelled{Message: "mine"}}, &taskEnd{outcome: Interrupted,
			failure: &Failure{Code: FailureInterrupted, Message: "its prompt was taken out of the inbox"}}},
		{"another prompt cancelled", []Payload{PromptCancelled{Message: "other"}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			progress := taskProgress{prompt: "mine"}
			var got *taskEnd
			for i, payload := range c.log {
				if got = progress.take(payload); got != nil && i < len(c.log)-1 {
					t.Fatalf("ended at %d of %d", i, len(c.log))
				}
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(taskEnd{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALongAnswerIsDeliveredInPart(t *testing.T) {
	long := strings.Repeat("é", 100) + strings.Repeat("ü", 100)
	got := boundText(long, 101, "ses_1")
	want := strings.Repeat("é", 25) + "\n\n[300 bytes left out; session ses_1 has the whole]\n\n" + strings.Repeat("ü", 25)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := boundText("short", 5, "ses_1"); got != "short" {
		t.Errorf("%q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		text, limit := rapid.String().Draw(t, "text"), rapid.IntRange(1, 40).Draw(t, "limit")
		if !utf8.ValidString(boundText(text, limit, "ses_1")) {
			t.Fatalf("%q cut at %d is not UTF-8", text, limit)
		}
	})
}

func TestTheIdOfADelivery(t *testing.T) {
	ids := NewIDs(SystemClock{})
	task := TaskStarted{Session: ids.New(PrefixSession), Prompt: ids.New(PrefixMessage)}
	id := deliveryID(task)
	if err := CheckID(PrefixMessage, id); err != nil {
		t.Error(err)
	}
	if again := deliveryID(task); again != id {
		t.Errorf("%s, then %s", id, again)
	}
	other := task
	other.Session = ids.New(PrefixSession)
	if deliveryID(other) == id || id == task.Prompt {
		t.Error("the id is not its own")
	}
}
