package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/store"
)

// PrefixQuestion begins the id of a question.
const PrefixQuestion = "que_"

// Limits of questions, and of the texts of questions, answers and list items in bytes.
const (
	maxQuestions = 20
	maxOptions   = 50
	maxAskText   = 4 << 10
)

// actionQuestion is the permission action of questions. A rule can deny them; asking
// whether one may be asked would be asking twice.
const actionQuestion = "question"

// Ask puts questions to a person and answers, for each, the labels chosen or the text.
// before says that the call has had no effect yet, so that the questions outlive a
// shutdown. What the call asked before is not asked again. A *DeniedError when a rule
// denies questions, or, Declined, when a person dismissed these; ErrInvalid when
// nobody could answer them; ErrNotFound without the session. It waits as Authorise
// does.
func (p *Permissions) Ask(ctx context.Context, asker Asker, questions []Question, before bool) ([][]string, error) {
	if err := checkQuestions(questions); err != nil {
		return nil, err
	}
	if earlier, ok := asker.Earlier.question(questions); ok {
		return p.awaitAnswer(ctx, asker, earlier.Request, before)
	}
	policies, _, err := p.policy(ctx, asker, "")
	if err != nil {
		return nil, err
	}
	if effect, _ := DecideAll(policies, nil, actionQuestion, []string{"*"}); effect == Deny {
		return nil, &DeniedError{Action: actionQuestion}
	}
	id := p.encoder.IDs.New(PrefixQuestion)
	if _, err := p.append(ctx, System(), asker.Session, store.Fenced(asker.Fence), QuestionAsked{
		Request: id, Message: asker.Message, Call: asker.Call, Agent: asker.Agent, Questions: questions, Before: before,
	}); err != nil {
		return nil, fmt.Errorf("ask a question: %w", err)
	}
	return p.awaitAnswer(ctx, asker, id, before)
}

func (p *Permissions) awaitAnswer(ctx context.Context, asker Asker, id string, before bool) ([][]string, error) {
	var question QuestionRequest
	err := p.await(ctx, asker, waiting{
		request: id, before: before, withdrawal: QuestionDismissed{Request: id, Withdrawn: true},
		closed: func(ctx context.Context) (closed bool, err error) {
			question, err = p.loadQuestion(ctx, id)
			return question.State != QuestionStateOpen, err
		},
	})
	if err != nil {
		return nil, err
	}
	switch question.State {
	case QuestionStateAnswered:
		return question.Answers, nil
	case QuestionStateDismissed:
		return nil, &DeniedError{Action: actionQuestion, Declined: true}
	}
	return nil, fmt.Errorf("question %s was withdrawn: %w", id, ErrInterrupted)
}

// Questions answers the open questions of a session and of all sessions under it,
// oldest first; of all sessions when session is empty.
func (p *Permissions) Questions(ctx context.Context, session string) (open []QuestionRequest, err error) {
	err = p.log.View(ctx, func(tx store.Tx) error {
		if open, err = LoadQuestions(ctx, tx, session); err != nil || session == "" {
			return err
		}
		below, err := loadBelow(ctx, tx, session, PrefixQuestion, func(id string) (QuestionRequest, bool, error) {
			question, err := LoadQuestion(ctx, tx, id)
			return question, question.State == QuestionStateOpen, err
		})
		open = append(open, below...)
		return err
	})
	slices.SortStableFunc(open, func(a, b QuestionRequest) int {
		return cmp.Or(cmp.Compare(a.Asked, b.Asked), cmp.Compare(a.Seq, b.Seq))
	})
	return open, err
}

// Answer answers an open question: a list for each question asked. ErrNotFound when
// there is none of that id, ErrResolved when it was closed before, ErrInvalid for
// answers that do not fit.
func (p *Permissions) Answer(ctx context.Context, origin Origin, id string, answers [][]string) (QuestionRequest, error) {
	return p.closeQuestion(ctx, origin, id, func(asked QuestionRequest) (Payload, error) {
		return QuestionAnswered{Request: id, Answers: answers}, checkAnswers(asked.Questions, answers)
	})
}

// Dismiss closes an open question without an answer, which halts who waits for it.
// ErrNotFound when there is none of that id, ErrResolved when it was closed before.
func (p *Permissions) Dismiss(ctx context.Context, origin Origin, id string) (QuestionRequest, error) {
	return p.closeQuestion(ctx, origin, id, func(QuestionRequest) (Payload, error) { return QuestionDismissed{Request: id}, nil })
}

func (p *Permissions) closeQuestion(ctx context.Context, origin Origin, id string, closing func(QuestionRequest) (Payload, error)) (QuestionRequest, error) {
	asked, err := p.loadQuestion(ctx, id)
	if err != nil {
		return QuestionRequest{}, err
	}
	if asked.State != QuestionStateOpen {
		return QuestionRequest{}, fmt.Errorf("question %s: %w", id, ErrResolved)
	}
	payload, err := closing(asked)
	if err != nil {
		return QuestionRequest{}, err
	}
	origin.Cause = id
	if err := p.close(ctx, origin, asked.Session, payload); err != nil {
		return QuestionRequest{}, fmt.Errorf("close a question: %w", err)
	}
	return p.loadQuestion(ctx, id)
}

func (p *Permissions) loadQuestion(ctx context.Context, id string) (question QuestionRequest, err error) {
	err = p.log.View(ctx, func(tx store.Tx) error {
		question, err = LoadQuestion(ctx, tx, id)
		return err
	})
	return question, err
}

func checkQuestions(questions []Question) error {
	if n := len(questions); n == 0 || n > maxQuestions {
		return fmt.Errorf("%w: there are %d questions; there must be 1 to %d", ErrInvalid, n, maxQuestions)
	}
	for i, question := range questions {
		at := fmt.Sprintf("questions[%d]", i)
		switch {
		case strings.TrimSpace(question.Text) == "" || len(question.Text) > maxAskText:
			return fmt.Errorf("%w: %s.text has %d bytes; it must say something in at most %d", ErrInvalid, at, len(question.Text), maxAskText)
		case len(question.Header) > maxAskText:
			return fmt.Errorf("%w: %s.header has %d bytes; the most is %d", ErrInvalid, at, len(question.Header), maxAskText)
		case len(question.Options) > maxOptions:
			return fmt.Errorf("%w: %s has %d options; the most is %d", ErrInvalid, at, len(question.Options), maxOptions)
		case len(question.Options) == 0 && !question.Custom:
			return fmt.Errorf("%w: %s has no options and takes no text; give options, or set custom", ErrInvalid, at)
		}
		if err := checkOptions(at, question.Options); err != nil {
			return err
		}
	}
	return nil
}

func checkOptions(at string, options []QuestionOption) error {
	seen := map[string]bool{}
	for i, option := range options {
		switch {
		case strings.TrimSpace(option.Label) == "" || len(option.Label) > maxAskText:
			return fmt.Errorf("%w: %s.options[%d].label has %d bytes; it must say something in at most %d", ErrInvalid, at, i, len(option.Label), maxAskText)
		case seen[option.Label]:
			return fmt.Errorf("%w: %s.options[%d].label is %q, which is there already; labels must differ", ErrInvalid, at, i, clip(option.Label))
		case len(option.Description) > maxAskText:
			return fmt.Errorf("%w: %s.options[%d].description has %d bytes; the most is %d", ErrInvalid, at, i, len(option.Description), maxAskText)
		}
		seen[option.Label] = true
	}
	return nil
}

func checkAnswers(questions []Question, answers [][]string) error {
	if len(answers) != len(questions) {
		return fmt.Errorf("%w: there are %d answers to %d questions; give a list for each", ErrInvalid, len(answers), len(questions))
	}
	for i, question := range questions {
		if err := checkAnswer(fmt.Sprintf("answers[%d]", i), question, answers[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkAnswer(at string, question Question, answer []string) error {
	switch {
	case len(answer) == 0:
		return fmt.Errorf("%w: %s is empty; answer the question, or dismiss it", ErrInvalid, at)
	case len(answer) > 1 && !question.Multiple:
		return fmt.Errorf("%w: %s has %d entries; the question takes one", ErrInvalid, at, len(answer))
	case len(answer) > maxOptions:
		return fmt.Errorf("%w: %s has %d entries; the most is %d", ErrInvalid, at, len(answer), maxOptions)
	}
	for i, text := range answer {
		offered := slices.ContainsFunc(question.Options, func(o QuestionOption) bool { return o.Label == text })
		switch {
		case slices.Contains(answer[:i], text):
			return fmt.Errorf("%w: %s[%d] is %q, which is there already", ErrInvalid, at, i, clip(text))
		case offered:
		case !question.Custom:
			return fmt.Errorf("%w: %s[%d] is %q, which is none of the options; choose of %s", ErrInvalid, at, i, clip(text), labels(question.Options))
		case strings.TrimSpace(text) == "" || len(text) > maxAskText:
			return fmt.Errorf("%w: %s[%d] has %d bytes; it must say something in at most %d", ErrInvalid, at, i, len(text), maxAskText)
		}
	}
	return nil
}

func labels(options []QuestionOption) string {
	quoted := make([]string, len(options))
	for i, option := range options {
		quoted[i] = fmt.Sprintf("%q", clip(option.Label))
	}
	return strings.Join(quoted, ", ")
}
