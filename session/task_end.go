package session

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/plinthhost/plinth/store"
)

// MaxTaskText bounds the answer of a child that is delivered to its parent's inbox, in
// bytes. A longer one keeps its head and its tail.
const MaxTaskText = 50 << 10

// maxTaskReason bounds what is told of why a task did not complete, in bytes.
const maxTaskReason = 4 << 10

// stop ends a task that nobody waits for: the child is interrupted, its cleanup waited
// for, and the end recorded. A child that is done already is left alone.
func (t *Tasks) stop(ctx context.Context, parent string, task TaskStarted, mode store.Mode) error {
	end, ended, err := t.follow(ctx, task, false)
	if err != nil {
		return err
	}
	if !ended {
		if _, err := t.sessions.Interrupt(ctx, System(), task.Session); err != nil && !isGone(err) {
			return fmt.Errorf("stop task %s: %w", task.Session, err)
		}
		if end, ended, err = t.follow(ctx, task, false); err != nil {
			return err
		}
	}
	if !ended { // its activity is one that no process works on; its own recovery closes it
		end = taskEnd{outcome: Interrupted}
	}
	return t.conclude(ctx, parent, task, end, mode)
}

// conclude records the end in the parent.
func (t *Tasks) conclude(ctx context.Context, parent string, task TaskStarted, end taskEnd, mode store.Mode) error {
	if err := t.withdraw(ctx, task, end); err != nil {
		return err
	}
	origin := System()
	origin.Cause = end.cause
	_, err := t.append(ctx, origin, parent, mode, TaskEnded{Session: task.Session, Prompt: task.Prompt, Outcome: end.outcome})
	if err != nil && !isGone(err) {
		return fmt.Errorf("record the end of task %s: %w", task.Session, err)
	}
	return nil
}

// deliver records the end of a task in the background, together with the prompt that
// brings its result to the parent, and wakes the parent. The prompt's id follows from
// the task, so a second delivery is refused whole, whoever makes it.
func (t *Tasks) deliver(ctx context.Context, parent string, task TaskStarted, end taskEnd) error {
	if err := t.withdraw(ctx, task, end); err != nil {
		return err
	}
	origin := System()
	origin.Cause = end.cause
	events, err := t.append(ctx, origin, parent, store.Any(),
		TaskEnded{Session: task.Session, Prompt: task.Prompt, Outcome: end.outcome},
		PromptAdmitted{Message: deliveryID(task), Prompt: Prompt{Text: end.report(task)}, Delivery: Steer, Wake: true, Synthetic: true})
	var delivered *ConflictError
	switch {
	case errors.As(err, &delivered), isGone(err):
		return nil
	case err != nil:
		return fmt.Errorf("deliver task %s: %w", task.Session, err)
	}
	t.waker.Wake(parent, events[len(events)-1].Seq)
	return nil
}

// withdraw takes a prompt that waits out of the child's inbox, so that it does not run
// for nobody when the child is woken for something else.
func (t *Tasks) withdraw(ctx context.Context, task TaskStarted, end taskEnd) error {
	if !end.waiting {
		return nil
	}
	_, err := t.append(ctx, System(), task.Session, store.Any(), PromptCancelled{Message: task.Prompt})
	var taken *ConflictError
	if err == nil || errors.As(err, &taken) || isGone(err) {
		return nil
	}
	return fmt.Errorf("take back the prompt of task %s: %w", task.Session, err)
}

// isGone reports a session that was removed.
func isGone(err error) bool { return errors.Is(err, store.ErrDeleted) || isMissing(err) }

// deliveryID is the id of the prompt that brings the result of a task.
func deliveryID(task TaskStarted) string {
	sum := sha256.Sum256([]byte("task result\n" + task.Session + "\n" + task.Prompt))
	head := strings.TrimPrefix(task.Prompt, PrefixMessage)[:idTimeDigits+idCountDigits]
	var tail [idRandomDigits]byte
	for i := range tail {
		tail[i] = base62[int(sum[i])%len(base62)]
	}
	return PrefixMessage + head + string(tail[:])
}

// toolError tells the model of a task that did not complete.
func (e taskEnd) toolError(task TaskStarted) *ToolError {
	kind := "failed"
	switch e.outcome {
	case Interrupted:
		kind = "cancelled"
	case Halted:
		kind = "denied"
	}
	return refuse(kind, "The task %s. To go on with it, give a task with session %s.", e.words(task), task.Session)
}

// report is what the parent is told of a task in the background.
func (e taskEnd) report(task TaskStarted) string {
	head := fmt.Sprintf("The background task %q in session %s %s.", task.Description, task.Session, e.words(task))
	if e.text == "" {
		return head
	}
	return head + " Its last answer:\n\n" + boundText(e.text, MaxTaskText, task.Session)
}

// words say how the task ended.
func (e taskEnd) words(task TaskStarted) string {
	words := ""
	switch e.outcome {
	case Completed:
		return "is completed"
	case Failed:
		words = "failed"
	case Halted:
		words = "was halted because a person declined"
	default:
		words = "was interrupted"
	}
	if e.failure != nil && e.outcome != Halted {
		words += ": " + boundText(strings.TrimRight(e.failure.Message, "."), maxTaskReason, task.Session)
	}
	return words
}

// boundText keeps the head and the tail of a text that is longer than limit bytes.
func boundText(text string, limit int, session string) string {
	if len(text) <= limit {
		return text
	}
	head, tail := limit/2, len(text)-limit/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n\n[%d bytes left out; session %s has the whole]\n\n%s", text[:head], tail-head, session, text[tail:])
}
