package session_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
)

// question asks in the background.
func (d *office) question(ctx context.Context, asker session.Asker, questions ...session.Question) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := d.Ask(ctx, asker, questions, false)
		done <- err
	}()
	return done
}

func colour() session.Question {
	return session.Question{Header: "Colour", Text: "Which colour?", Options: []session.QuestionOption{{Label: "Red"}, {Label: "Green", Description: "like grass"}}}
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	t.Run("an answer reaches who asked", func(t *testing.T) {
		d := newOffice(t, nil)
		id := d.make("/p", "")
		type outcome struct {
			answers [][]string
			err     error
		}
		done := make(chan outcome, 1)
		many := colour()
		many.Multiple, many.Custom = true, true
		asker := d.asker(id)
		go func() {
			answers, err := d.Ask(t.Context(), asker, []session.Question{colour(), many}, true)
			done <- outcome{answers, err}
		}()
		d.Await(id, session.QuestionAsked{}.EventType(), 1)
		open, err := d.Questions(t.Context(), id)
		if err != nil || len(open) != 1 || !open[0].Before || len(open[0].Questions) != 2 || open[0].Agent != "build" {
			t.Fatalf("open %+v, %v", open, err)
		}
		answers := [][]string{{"Green"}, {"Red", "Blue"}}
		answered, err := d.Answer(t.Context(), session.Origin{Actor: "local:0"}, open[0].Request, answers)
		if err != nil || answered.State != session.QuestionStateAnswered {
			t.Fatalf("answered %+v, %v", answered, err)
		}
		if got := <-done; got.err != nil || !cmp.Equal(got.answers, answers) {
			t.Errorf("got %+v", got)
		}
		if _, err := d.Answer(t.Context(), session.System(), open[0].Request, answers); !errors.Is(err, session.ErrResolved) {
			t.Errorf("a second answer: %v", err)
		}
		if open, err := d.Questions(t.Context(), ""); err != nil || len(open) != 0 {
			t.Errorf("open %+v, %v", open, err)
		}
		if len(d.woken()) != 1 {
			t.Errorf("woken %q", d.woken())
		}
	})
	t.Run("a dismissal is a refusal by a person", func(t *testing.T) {
		d := newOffice(t, nil)
		id := d.make("/p", "")
		done := d.question(t.Context(), d.asker(id), colour())
		d.Await(id, session.QuestionAsked{}.EventType(), 1)
		open, err := d.Questions(t.Context(), "")
		if err != nil || len(open) != 1 {
			t.Fatal(open, err)
		}
		if _, err := d.Dismiss(t.Context(), session.System(), open[0].Request); err != nil {
			t.Fatal(err)
		}
		if got := refusal(t, outcomeOf(t, done)); got.Action != "question" || !got.Declined {
			t.Errorf("got %+v", got)
		}
		if _, err := d.Dismiss(t.Context(), session.System(), open[0].Request); !errors.Is(err, session.ErrResolved) {
			t.Errorf("a second dismissal: %v", err)
		}
		if _, err := d.Dismiss(t.Context(), session.System(), "que_none"); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("no such question: %v", err)
		}
	})
	t.Run("a rule denies questions, and the model is told", func(t *testing.T) {
		d := newOffice(t, nil, session.Rule{Action: "question", Resource: "*", Effect: session.Deny})
		id := d.make("/p", "")
		if got := refusal(t, outcomeOf(t, d.question(t.Context(), d.asker(id), colour()))); got.Declined {
			t.Errorf("got %+v", got)
		}
		if asked := d.events(id, session.QuestionAsked{}); len(asked) != 0 {
			t.Errorf("asked %q", asked)
		}
	})
	t.Run("a shutdown leaves it open only before an effect", func(t *testing.T) {
		d := newOffice(t, nil)
		id := d.make("/p", "")
		for n, before := range []bool{true, false} {
			ctx, stop := context.WithCancelCause(t.Context())
			done := make(chan error, 1)
			asker := d.asker(id)
			go func() {
				_, err := d.Ask(ctx, asker, []session.Question{colour()}, before)
				done <- err
			}()
			d.Await(id, session.QuestionAsked{}.EventType(), n+1)
			stop(session.ErrShutdown)
			if err := outcomeOf(t, done); !errors.Is(err, session.ErrShutdown) {
				t.Errorf("got %v", err)
			}
		}
		open, err := d.Questions(t.Context(), id)
		if err != nil || len(open) != 1 || !open[0].Before {
			t.Errorf("open %+v, %v", open, err)
		}
		if got := d.events(id, session.QuestionDismissed{}); len(got) != 1 || !strings.Contains(got[0], `"withdrawn":true`) {
			t.Errorf("withdrawn %q", got)
		}
	})
}

func TestQuestionsThatDoNotFit(t *testing.T) {
	t.Parallel()
	d := newOffice(t, nil)
	asker := d.asker(d.make("/p", ""))
	long := strings.Repeat("x", 4097)
	var texts []string
	for _, questions := range [][]session.Question{
		nil, slices.Repeat([]session.Question{colour()}, 21), {{Custom: true}}, {{Text: long, Custom: true}}, {{Text: "a", Header: long, Custom: true}},
		{{Text: "a", Options: make([]session.QuestionOption, 51)}}, {{Text: "a"}}, {colour(), {Text: "a", Options: []session.QuestionOption{{Label: " "}}}},
		{{Text: "a", Options: []session.QuestionOption{{Label: "x"}, {Label: "x"}}}}, {{Text: "a", Options: []session.QuestionOption{{Label: "x", Description: long}}}},
	} {
		_, err := d.Ask(t.Context(), asker, questions, false)
		if !errors.Is(err, session.ErrInvalid) {
			t.Fatalf("%+v: %v", questions, err)
		}
		texts = append(texts, strings.TrimPrefix(err.Error(), "invalid request: "))
	}
	want := []string{
		"there are 0 questions; there must be 1 to 20", "there are 21 questions; there must be 1 to 20",
		"questions[0].text has 0 bytes; it must say something in at most 4096", "questions[0].text has 4097 bytes; it must say something in at most 4096",
		"questions[0].header has 4097 bytes; the most is 4096", "questions[0] has 51 options; the most is 50",
		"questions[0] has no options and takes no text; give options, or set custom",
		"questions[1].options[0].label has 1 bytes; it must say something in at most 4096",
		`questions[0].options[1].label is "x", which is there already; labels must differ`,
		"questions[0].options[0].description has 4097 bytes; the most is 4096",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
}

func TestAnswersThatDoNotFit(t *testing.T) {
	t.Parallel()
	d := newOffice(t, nil)
	many, free := colour(), colour()
	many.Multiple, free.Custom = true, true
	d.append(d.make("/p", ""), session.QuestionAsked{Request: "que_1", Agent: "build", Questions: []session.Question{colour(), many, free}})
	fits := [][]string{{"Red"}, {"Red", "Green"}, {"Blue"}}
	with := func(at int, answer ...string) [][]string {
		changed := slices.Clone(fits)
		changed[at] = answer
		return changed
	}
	var texts []string
	for _, answers := range [][][]string{
		nil, fits[:2], with(0), with(0, "Red", "Green"), with(0, "Blue"), with(1, "Red", "Red"), with(2, " "), with(2, strings.Repeat("x", 4097)), with(0, ""),
	} {
		_, err := d.Answer(t.Context(), session.System(), "que_1", answers)
		if !errors.Is(err, session.ErrInvalid) {
			t.Fatalf("%q: %v", answers, err)
		}
		texts = append(texts, strings.TrimPrefix(err.Error(), "invalid request: "))
	}
	want := []string{
		"there are 0 answers to 3 questions; give a list for each", "there are 2 answers to 3 questions; give a list for each",
		"answers[0] is empty; answer the question, or dismiss it", "answers[0] has 2 entries; the question takes one",
		`answers[0][0] is "Blue", which is none of the options; choose of "Red", "Green"`, `answers[1][1] is "Red", which is there already`,
		"answers[2][0] has 1 bytes; it must say something in at most 4096", "answers[2][0] has 4097 bytes; it must say something in at most 4096",
		`answers[0][0] is "", which is none of the options; choose of "Red", "Green"`,
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
	if _, err := d.Answer(t.Context(), session.System(), "que_1", fits); err != nil {
		t.Error(err)
	}
}
