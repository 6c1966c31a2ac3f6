package session

import (
	"context"
	"fmt"

	"github.com/plinthhost/plinth/store"
)

// interruptedElsewhere is what an answer and its calls say that were cut off by leaving
// the host that worked on them.
const interruptedElsewhere = "The session was exported while this was running; what came of it is not known here"

// LoadRest answers what brings a session to rest on which nothing works here and nothing
// may begin by itself: what it was exported in the middle of ends as interrupted, what
// waits for a person is withdrawn, and what asked to be run waits for a new word. Nothing
// for a session that rests.
func LoadRest(ctx context.Context, tx store.Tx, ids *IDs, id string) ([]Payload, error) {
	s, err := LoadSession(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	var payloads []Payload
	for _, part := range [...]func() ([]Payload, error){
		func() ([]Payload, error) { return restWakes(ctx, tx, s) },
		func() ([]Payload, error) { return restAsks(ctx, tx, id) },
		func() ([]Payload, error) { return restTasks(ctx, tx, id) },
		func() ([]Payload, error) { return restCompaction(s, ids), nil },
		func() ([]Payload, error) { return restActivity(ctx, tx, id) },
	} {
		more, err := part()
		if err != nil {
			return nil, fmt.Errorf("bring %s to rest: %w", id, err)
		}
		payloads = append(payloads, more...)
	}
	return payloads, nil
}

// restWakes puts an interrupt behind everything that asks for execution.
func restWakes(ctx context.Context, tx store.Tx, s Session) ([]Payload, error) {
	pending, err := LoadPending(ctx, tx, s.ID)
	if err != nil {
		return nil, err
	}
	woken := s.Resume >= 0
	for _, input := range pending {
		woken = woken || input.Wake > s.Interrupt
	}
	_, err = LoadActivity(ctx, tx, s.ID)
	switch {
	case err == nil, isMissing(err) && woken:
		return []Payload{InterruptRequested{}}, nil
	case isMissing(err):
		return nil, nil
	}
	return nil, err
}

func restAsks(ctx context.Context, tx store.Tx, id string) (payloads []Payload, err error) {
	permissions, err := LoadPermissions(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	for _, request := range permissions {
		payloads = append(payloads, PermissionReplied{Request: request.Request, Reply: ReplyWithdrawn})
	}
	questions, err := LoadQuestions(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	for _, question := range questions {
		payloads = append(payloads, QuestionDismissed{Request: question.Request, Withdrawn: true})
	}
	rows, err := tx.Query(ctx, `SELECT child_id, request FROM child_request WHERE session_id = $1`, id)
	below, err := collect(rows, err, func(row store.Row) (ChildAnswered, error) {
		var told ChildAnswered
		err := row.Scan(&told.Session, &told.Request)
		return told, err
	})
	for _, told := range below {
		payloads = append(payloads, told)
	}
	return payloads, err
}

func restTasks(ctx context.Context, tx store.Tx, id string) (payloads []Payload, err error) {
	tasks, err := LoadTasks(ctx, tx, id)
	for _, task := range tasks {
		payloads = append(payloads, TaskEnded{Session: task.Session, Prompt: task.Prompt, Outcome: Interrupted})
	}
	return payloads, err
}

// restCompaction answers the request for a compaction that would be made as soon as
// something works on the session.
func restCompaction(s Session, ids *IDs) []Payload {
	if s.Compact < 0 {
		return nil
	}
	message := ids.New(PrefixMessage)
	return []Payload{CompactionStarted{Message: message, Reason: CompactionManual},
		CompactionFailed{Message: message, Reason: CompactionManual, Error: Failure{Code: FailureInterrupted, Message: interruptedElsewhere}}}
}

// restActivity settles what is open of the activity and ends it.
func restActivity(ctx context.Context, tx store.Tx, id string) (payloads []Payload, err error) {
	activity, err := LoadActivity(ctx, tx, id)
	switch {
	case isMissing(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	messages, err := LoadSince(ctx, tx, id, activity.Started)
	if err != nil {
		return nil, err
	}
	failure := Failure{Code: FailureInterrupted, Message: interruptedElsewhere}
	for _, message := range messages {
		if message.Type != MessageAssistant || message.Completed != 0 {
			continue
		}
		for _, part := range message.Parts {
			if part.Tool != nil && part.Tool.Unsettled() {
				payloads = append(payloads, ToolFailed{Message: message.ID, Call: part.ID,
					Error: ToolError{Kind: "cancelled", Message: interruptedElsewhere}})
			}
		}
		payloads = append(payloads, StepFailed{Message: message.ID, Error: failure})
	}
	return append(payloads, ActivityEnded{Activity: activity.ID, Outcome: Interrupted, Error: &failure}), nil
}
