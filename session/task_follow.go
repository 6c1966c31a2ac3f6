package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/plinthhost/plinth/store"
)

// taskEnd is how a child came out with what a task asked of it.
type taskEnd struct {
	outcome Outcome
	failure *Failure // why it did not complete, where that is known
	text    string   // the child's last answer
	cause   string   // the event it ended with; "" for none
	waiting bool     // the prompt was never promoted and still waits
}

// taskProgress reads a child's log from the admission of a task's prompt on.
type taskProgress struct {
	prompt   string
	began    bool // an activity began after the admission
	promoted bool
	message  string // that text is of
	text     string
}

// take applies one event and answers the end of the task when that is what it is. A
// session has one activity at a time, so the first that ends after the promotion is
// the one that made it.
func (p *taskProgress) take(payload Payload) *taskEnd {
	switch e := payload.(type) {
	case ActivityStarted:
		p.began = true
	case PromptPromoted:
		p.promoted = p.promoted || e.Message == p.prompt
	case PromptCancelled:
		if e.Message == p.prompt {
			return &taskEnd{outcome: Interrupted, failure: &Failure{Code: FailureInterrupted, Message: "its prompt was taken out of the inbox"}}
		}
	case InterruptRequested:
		if !p.began && !p.promoted { // nothing asks for the prompt any more
			return &taskEnd{outcome: Interrupted, waiting: true}
		}
	case TextEnded:
		if !p.promoted {
			break
		}
		if e.Message != p.message {
			p.message, p.text = e.Message, ""
		}
		p.text += e.Text
	case ActivityEnded:
		return p.ended(e)
	}
	return nil
}

func (p *taskProgress) ended(e ActivityEnded) *taskEnd {
	if p.promoted {
		return &taskEnd{outcome: e.Outcome, failure: e.Error, text: p.text}
	}
	if !p.began || e.Outcome == Completed { // it had nothing to do with the prompt
		p.began = false
		return nil
	}
	return &taskEnd{outcome: e.Outcome, failure: e.Error, waiting: true}
}

// follow reads the child's log up to the end of the task. Without wait it reads what
// is there, and ended says whether that was all. A child that is not there any more,
// or never was, has ended as interrupted.
func (t *Tasks) follow(ctx context.Context, task TaskStarted, wait bool) (end taskEnd, ended bool, err error) {
	gone := taskEnd{outcome: Interrupted, failure: &Failure{Code: FailureInterrupted, Message: "its session did not begin, or was removed"}}
	input, err := t.sessions.Input(ctx, task.Prompt)
	switch {
	case isMissing(err):
		return gone, true, nil
	case err != nil:
		return taskEnd{}, false, fmt.Errorf("follow task %s: %w", task.Session, err)
	}
	tail := store.NewTail(t.log, task.Session, input.Admitted)
	defer tail.Close()
	read := tail.Poll
	if wait {
		read = tail.Next
	}
	progress := taskProgress{prompt: task.Prompt}
	for {
		page, err := read(ctx, 256)
		switch {
		case errors.Is(err, store.ErrDeleted):
			return gone, true, nil
		case err != nil:
			return taskEnd{}, false, fmt.Errorf("follow task %s: %w", task.Session, err)
		case len(page.Events) == 0:
			return taskEnd{}, false, nil
		}
		for _, event := range page.Events {
			payload, err := Decode(event)
			if err != nil {
				return taskEnd{}, false, err
			}
			if end := progress.take(payload); end != nil {
				end.cause = event.ID
				return *end, true, nil
			}
		}
	}
}
