package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/plinthhost/plinth/store"
)

// Interrupt records the interrupt durably, also for an idle session, stops the
// work of earlier admissions and waits until it has cleaned up. Pending prompts
// stay. It answers the sequence of the boundary.
func (s *Sessions) Interrupt(ctx context.Context, origin Origin, session string) (int64, error) {
	return s.interrupt(ctx, origin, session, InterruptRequested{})
}

func (s *Sessions) interrupt(ctx context.Context, origin Origin, session string, requested InterruptRequested) (int64, error) {
	seq, err := s.request(ctx, origin, session, requested)
	if err != nil {
		return 0, fmt.Errorf("interrupt: %w", err)
	}
	if err := s.execution.Interrupt(ctx, session, seq); err != nil {
		return seq, err
	}
	// A suspended activity has no drain that could be stopped; a drain ends it.
	suspended, err := s.Activity(ctx, session)
	if err != nil || suspended == nil || suspended.Started > seq {
		return seq, err
	}
	s.execution.Wake(session, seq)
	return seq, s.ended(ctx, session, seq)
}

// ended waits until no activity is there that began before seq, or nothing works on the
// session any more. What is newer may go on for as long as it likes.
func (s *Sessions) ended(ctx context.Context, session string, seq int64) error {
	wake := s.log.Watch(session)
	defer wake.Close()
	ctx, cancel := context.WithCancel(ctx)
	idle := make(chan error, 1)
	var settling sync.WaitGroup
	settling.Go(func() { idle <- s.execution.Settle(ctx, session) })
	defer settling.Wait()
	defer cancel()
	for {
		activity, err := s.Activity(ctx, session)
		if err != nil || activity == nil || activity.Started > seq {
			return err
		}
		select {
		case <-wake.C():
		case err := <-idle:
			return err
		}
	}
}

// Resume asks durably for at least one provider turn and does not wait for it. It
// answers the sequence of the request.
func (s *Sessions) Resume(ctx context.Context, origin Origin, session string) (int64, error) {
	defer s.inboxes.lock(session)() // a revert that restores files comes first
	seq, err := s.request(ctx, origin, session, ResumeRequested{})
	if err != nil {
		return 0, fmt.Errorf("resume: %w", err)
	}
	s.execution.Wake(session, seq)
	return seq, nil
}

// Compact asks durably for a summary in the place of the older history, and does not
// wait for it: an idle session makes it now, another one at its next boundary. It
// answers the sequence of the request; the compaction.started after it serves it.
func (s *Sessions) Compact(ctx context.Context, origin Origin, session string) (int64, error) {
	seq, err := s.request(ctx, origin, session, CompactionRequested{})
	if err != nil {
		return 0, fmt.Errorf("compact: %w", err)
	}
	s.execution.Wake(session, seq)
	return seq, nil
}

// request appends one event to a session that exists and answers its sequence.
func (s *Sessions) request(ctx context.Context, origin Origin, session string, payload Payload) (int64, error) {
	if _, err := s.Get(ctx, session); err != nil {
		return 0, err
	}
	events, err := s.append(ctx, origin, session, store.Any(), payload)
	if err != nil {
		return 0, err
	}
	return events[0].Seq, nil
}

// Change replaces what a session goes on with from its next turn on. What is not
// set stays.
type Change struct {
	Agent   string
	Model   *ModelRef
	Rules   *[]Rule
	Budgets *[]Budget

	// Title is one line of 1 to MaxTitle characters.
	Title    *string
	Archived *bool
	// Retention is the session's own.
	Retention *Retention
}

// SwitchAgent is Change of the agent.
func (s *Sessions) SwitchAgent(ctx context.Context, origin Origin, session, agent string) (Session, error) {
	if agent == "" {
		return Session{}, fmt.Errorf("%w: agent is empty", ErrInvalid)
	}
	return s.Change(ctx, origin, session, Change{Agent: agent})
}

// SwitchModel is Change of the model.
func (s *Sessions) SwitchModel(ctx context.Context, origin Origin, session string, model ModelRef) (Session, error) {
	return s.Change(ctx, origin, session, Change{Model: &model})
}

// SetRules is Change of the session's own permission rules.
func (s *Sessions) SetRules(ctx context.Context, origin Origin, session string, rules []Rule) (Session, error) {
	return s.Change(ctx, origin, session, Change{Rules: &rules})
}

// SetBudgets is Change of the session's own budgets.
func (s *Sessions) SetBudgets(ctx context.Context, origin Origin, session string, budgets []Budget) (Session, error) {
	return s.Change(ctx, origin, session, Change{Budgets: &budgets})
}

// Change does all of the change, or nothing, and answers the session after it. What
// the session has already is not recorded again.
func (s *Sessions) Change(ctx context.Context, origin Origin, session string, change Change) (Session, error) {
	change, err := s.checkChange(ctx, session, change)
	if err != nil {
		return Session{}, err
	}
	if err := s.checkSwitch(ctx, session, change.Model); err != nil {
		return Session{}, err
	}
	return s.change(ctx, origin, session, func(current Session) []Payload {
		var payloads []Payload
		if change.Agent != "" && change.Agent != current.Agent {
			payloads = append(payloads, AgentSwitched{Message: s.encoder.IDs.New(PrefixMessage), Agent: change.Agent})
		}
		if change.Model != nil && *change.Model != current.Model {
			payloads = append(payloads, ModelSwitched{Message: s.encoder.IDs.New(PrefixMessage), Model: *change.Model})
		}
		if change.Rules != nil && !slices.Equal(*change.Rules, current.Rules) {
			payloads = append(payloads, RulesChanged{Rules: append([]Rule{}, *change.Rules...)})
		}
		if change.Budgets != nil && !slices.Equal(*change.Budgets, current.Budgets) {
			payloads = append(payloads, BudgetsChanged{Budgets: append([]Budget{}, *change.Budgets...)})
		}
		return append(payloads, change.keeping(current)...)
	})
}

// keeping are the events of what concerns the session as a thing that is kept.
func (c Change) keeping(current Session) (payloads []Payload) {
	if c.Title != nil && *c.Title != current.Title {
		payloads = append(payloads, Renamed{Title: *c.Title})
	}
	switch {
	case c.Archived == nil || *c.Archived == (current.Archived != 0):
	case *c.Archived:
		payloads = append(payloads, Archived{})
	default:
		payloads = append(payloads, Unarchived{})
	}
	if c.Retention != nil && (current.Retention == nil || *c.Retention != *current.Retention) {
		payloads = append(payloads, RetentionChanged{Retention: *c.Retention})
	}
	return payloads
}

// checkChange answers the change as it is recorded.
func (s *Sessions) checkChange(ctx context.Context, session string, change Change) (Change, error) {
	if change.Agent != "" {
		if err := s.checkAgent("agent", change.Agent, s.placeOf(ctx, session)); err != nil {
			return Change{}, err
		}
	}
	if change.Model != nil {
		if err := change.Model.check("model"); err != nil {
			return Change{}, err
		}
	}
	if change.Rules != nil {
		if err := checkRules(*change.Rules); err != nil {
			return Change{}, err
		}
	}
	if change.Budgets != nil {
		if err := checkBudgets(*change.Budgets); err != nil {
			return Change{}, err
		}
	}
	if change.Title != nil {
		title, err := cleanTitle(*change.Title)
		if err != nil {
			return Change{}, err
		}
		change.Title = &title
	}
	if change.Retention != nil {
		return change, change.Retention.check("retention")
	}
	return change, nil
}

// Rename is Change of the title.
func (s *Sessions) Rename(ctx context.Context, origin Origin, session, title string) (Session, error) {
	return s.Change(ctx, origin, session, Change{Title: &title})
}

// Archive is Change of whether the session is out of sight.
func (s *Sessions) Archive(ctx context.Context, origin Origin, session string, archived bool) (Session, error) {
	return s.Change(ctx, origin, session, Change{Archived: &archived})
}

// SetRetention is Change of how much of the session's history is kept.
func (s *Sessions) SetRetention(ctx context.Context, origin Origin, session string, retention Retention) (Session, error) {
	return s.Change(ctx, origin, session, Change{Retention: &retention})
}

// checkSwitch checks a model that the session does not have yet.
func (s *Sessions) checkSwitch(ctx context.Context, session string, model *ModelRef) error {
	if model == nil {
		return nil
	}
	current, err := s.Get(ctx, session)
	if err != nil || current.Model == *model {
		return err
	}
	return s.checkModel(ctx, "model", *model)
}

// Move lets the session work in another directory from its next turn on, and answers
// it. A turn that was made for the place before is refused. The place it has already
// is not recorded again. A staged revert that replaced files belongs to them: another
// root is a *ConflictError until it is committed or cleared.
func (s *Sessions) Move(ctx context.Context, origin Origin, session, directory string) (Session, error) {
	if _, err := s.Get(ctx, session); err != nil {
		return Session{}, err
	}
	location, err := s.resolve(ctx, directory)
	if err != nil {
		return Session{}, err
	}
	var elsewhere error
	moved, err := s.change(ctx, origin, session, func(current Session) []Payload {
		if current.Location == location {
			return nil
		}
		if staged := current.Revert; staged != nil && staged.Target != "" && current.Location.Root != location.Root {
			elsewhere = &ConflictError{ID: session, Reason: "has a revert staged that replaced files of " + current.Location.Root,
				Fix: "commit or clear it first"}
			return nil
		}
		return []Payload{Moved{Location: location}}
	})
	if elsewhere != nil {
		return Session{}, elsewhere
	}
	return moved, err
}

// change appends what follows from the session as it is and answers it as it is then.
func (s *Sessions) change(ctx context.Context, origin Origin, session string, payloads func(Session) []Payload) (Session, error) {
	defer s.inboxes.lock(session)()
	current, err := s.Get(ctx, session)
	if err != nil {
		return Session{}, err
	}
	changes := payloads(current)
	if len(changes) == 0 {
		return current, nil
	}
	if _, err := s.append(ctx, origin, session, store.Any(), changes...); err != nil {
		return Session{}, fmt.Errorf("change session: %w", err)
	}
	return s.Get(ctx, session)
}

// SyntheticRequest asks for a message that the host writes. An empty ID is made.
type SyntheticRequest struct {
	ID          string
	Session     string
	Text        string
	Description string // for people
	// Ignored: people see it, the model does not.
	Ignored bool
}

// Synthetic adds the message to the transcript and wakes nobody. It answers the
// message's id. An exact retry adds nothing; the same id with another content is a
// *ConflictError.
func (s *Sessions) Synthetic(ctx context.Context, origin Origin, request SyntheticRequest) (string, error) {
	switch size := len(request.Text) + len(request.Description); {
	case request.Text == "":
		return "", fmt.Errorf("%w: text is empty", ErrInvalid)
	case size > MaxPromptBytes:
		return "", fmt.Errorf("%w: text and description have %d bytes, the limit is %d", ErrInvalid, size, MaxPromptBytes)
	case !utf8.ValidString(request.Text) || !utf8.ValidString(request.Description):
		return "", fmt.Errorf("%w: text or description is not valid UTF-8", ErrInvalid)
	}
	if request.ID == "" {
		request.ID = s.encoder.IDs.New(PrefixMessage)
	} else if err := CheckID(PrefixMessage, request.ID); err != nil {
		return "", err
	}
	defer s.inboxes.lock(request.Session)()
	var known *Message
	err := s.view(ctx, request.Session, func(tx store.Tx) error {
		message, err := LoadMessage(ctx, tx, request.Session, request.ID)
		if err == nil {
			known = &message
		}
		if isMissing(err) {
			return nil
		}
		return err
	})
	switch {
	case err != nil:
		return "", err
	case known == nil:
		_, err := s.append(ctx, origin, request.Session, store.Any(), Synthetic{
			Message: request.ID, Text: request.Text, Description: request.Description, Ignored: request.Ignored})
		if err != nil {
			return "", fmt.Errorf("add message: %w", err)
		}
	case known.Type != MessageSynthetic || known.Text != request.Text || known.Description != request.Description || known.Ignored != request.Ignored:
		return "", &ConflictError{ID: request.ID, Reason: "another message"}
	}
	return request.ID, nil
}
