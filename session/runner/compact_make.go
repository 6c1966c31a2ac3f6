package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/compaction"
)

// compact condenses the history. made is false when there is nothing to gain, or when
// it failed, which is recorded. An error is of the log, or of a ctx that ended.
func (t *turn) compact(ctx context.Context, w window, reason session.CompactionReason) (made bool, err error) {
	p, err := t.plan(ctx, w, reason)
	if err != nil {
		if unavailable, ok := errors.AsType[*unavailableError](err); ok && reason != session.CompactionManual {
			t.Logger.Info("the history is not condensed", "session", t.session, "reason", reason, "why", unavailable.Error())
			return false, nil
		}
		return false, t.decline(ctx, reason, err)
	}
	started := session.CompactionStarted{Message: t.Encoder.IDs.New(session.PrefixMessage), Reason: reason}
	if err := t.append(ctx, started); err != nil {
		return false, err
	}
	defer t.Live.End(t.session, started.Message, summaryPart, session.LiveSummary)
	text, err := p.summary.write(ctx, started.Message)
	ended := session.CompactionEnded{Message: started.Message, Reason: reason, Summary: text, Boundary: p.choice.Boundary,
		Usage: p.summary.usage, Cost: p.summary.cost()}
	for _, kept := range p.choice.Kept {
		ended.Kept = append(ended.Kept, kept.ID)
	}
	if err == nil {
		err = p.worthwhile(ctx, t, w, ended)
	}
	if err == nil {
		return true, t.append(ctx, ended)
	}
	if err := t.append(ctx, session.CompactionFailed{Message: started.Message, Reason: reason, Error: *notCompacted(ctx, err),
		Usage: ended.Usage, Cost: ended.Cost}); err != nil {
		return false, err
	}
	t.Logger.Warn("the history could not be condensed", "session", t.session, "reason", reason, "error", err)
	return false, context.Cause(ctx)
}

// decline records a compaction that cannot be made.
func (t *turn) decline(ctx context.Context, reason session.CompactionReason, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	id := t.Encoder.IDs.New(session.PrefixMessage)
	return t.append(ctx, session.CompactionStarted{Message: id, Reason: reason},
		session.CompactionFailed{Message: id, Reason: reason, Error: *notCompacted(ctx, err)})
}

// unavailableError is a history that cannot be condensed, or need not be.
type unavailableError struct{ why string }

func (e *unavailableError) Error() string { return e.why }

// notCompacted says why the history stays as it is.
func notCompacted(ctx context.Context, err error) *session.Failure {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, session.ErrShutdown) || errors.Is(err, session.ErrShutdown):
		return &session.Failure{Code: session.FailureShutdown, Message: "The host was shut down while the history was condensed; it is as it was"}
	case cause != nil:
		return &session.Failure{Code: session.FailureInterrupted, Message: "The compaction was interrupted; the history is as it was"}
	}
	if unavailable, ok := errors.AsType[*unavailableError](err); ok {
		return &session.Failure{Code: session.FailureCompaction, Message: unavailable.why}
	}
	failure, _ := failureOf(ctx, err)
	return failure
}

// plan is a compaction that can be made.
type plan struct {
	choice  compaction.Choice
	before  int64 // tokens of the request as it is
	summary *summary
}

// plan divides the history and readies the request for the summary. What there is no
// use in condensing is an *unavailableError.
func (t *turn) plan(ctx context.Context, w window, reason session.CompactionReason) (*plan, error) {
	request := t.lower(ctx, w)
	p := &plan{before: compaction.Request(request)}
	window := t.model.Context
	if reason == session.CompactionOverflow && (window == 0 || p.before < window) {
		window = p.before // it was too much, whatever is known of the model
	}
	budget := t.divide(window)
	options := compaction.Options{Answered: w.session.Answered, Boundary: w.session.History, Keep: budget.Keep, Room: math.MaxInt64,
		Cost: func(message session.Message) int64 { return compaction.Messages(t.lowerOne(ctx, message, w.epoch.Seq)) }}
	recorded, coming := w.recorded()
	if budget.Window > 0 {
		options.Room = budget.Limit - compaction.Fixed(request) - budget.Summary
		for _, message := range coming {
			options.Room -= options.Cost(message)
		}
	}
	var ok bool
	if p.choice, ok = compaction.Choose(recorded, options); !ok {
		return nil, &unavailableError{fmt.Sprintf("There is nothing to condense: prompts without an answer and the newest %d tokens stay as they are, "+
			"and nothing is older; lower compaction.keep to condense more", budget.Keep)}
	}
	if p.choice.Folded*least < p.before {
		return nil, &unavailableError{fmt.Sprintf("Condensing would gain too little: about %d of %d tokens could be condensed, and at least a fifth has to be",
			p.choice.Folded, p.before)}
	}
	var err error
	p.summary, err = t.summary(ctx, p.choice)
	return p, err
}

// least is the part of a request that a compaction has to save: a fifth.
const least = 5

// recorded answers the messages that are in the log, and those that come with the next
// append.
func (w window) recorded() (recorded, coming []session.Message) {
	for _, message := range w.history {
		if message.Seq == maxSeq {
			coming = append(coming, message)
		} else {
			recorded = append(recorded, message)
		}
	}
	return recorded, coming
}

// worthwhile holds a summary to making the request smaller by a fifth.
func (p *plan) worthwhile(ctx context.Context, t *turn, w window, ended session.CompactionEnded) error {
	recorded, coming := w.recorded()
	later := slices.DeleteFunc(recorded, func(message session.Message) bool {
		return message.Type == session.MessageCompaction || message.Seq <= ended.Boundary
	})
	w.history = slices.Concat([]session.Message{{ID: ended.Message, Seq: maxSeq, Type: session.MessageCompaction,
		MessageBody: session.MessageBody{Text: ended.Summary}}}, p.choice.Kept, later, coming)
	after := compaction.Request(t.lower(ctx, w))
	if (p.before-after)*least >= p.before {
		return nil
	}
	return &unavailableError{fmt.Sprintf("The summary saves too little: the request has about %d tokens and would have %d, and at least a fifth has to go; "+
		"try again, or set compaction.model to a model that is more concise", p.before, after)}
}
