package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/plinthhost/plinth/store"
)

// Places resolves a directory that a client names to a Location, or says why a
// session cannot work there.
type Places interface {
	Resolve(ctx context.Context, directory string) (Location, error)
}

// Execution is what the sessions ask of the coordinator.
type Execution interface {
	Wake(session string, seq int64)
	Interrupt(ctx context.Context, session string, seq int64) error
}

// Sessions creates sessions, admits prompts and answers what is known of both.
type Sessions struct {
	log       store.Log
	encoder   Encoder
	places    Places
	execution Execution
	defaults  Defaults
}

// Defaults hold what a session has when its creator does not say.
type Defaults struct {
	Agent string
	Model ModelRef
}

// NewSessions wires the commands on sessions.
func NewSessions(log store.Log, encoder Encoder, places Places, execution Execution, defaults Defaults) *Sessions {
	return &Sessions{log: log, encoder: encoder, places: places, execution: execution, defaults: defaults}
}

// CreateRequest asks for a session. Everything but the directory may be empty.
type CreateRequest struct {
	ID        string
	Directory string
	Title     string
	Agent     string
	Model     *ModelRef
}

// Create makes a session, or answers the one that has the id already, unchanged.
func (s *Sessions) Create(ctx context.Context, origin Origin, request CreateRequest) (session Session, created bool, err error) {
	if request.ID != "" {
		if err := CheckID(PrefixSession, request.ID); err != nil {
			return Session{}, false, err
		}
		existing, err := s.Get(ctx, request.ID)
		if err == nil || !errors.Is(err, ErrNotFound) {
			return existing, false, err
		}
	} else {
		request.ID = s.encoder.IDs.New(PrefixSession)
	}
	payload := Created{Title: request.Title, Agent: request.Agent, Model: s.defaults.Model}
	if payload.Agent == "" {
		payload.Agent = s.defaults.Agent
	}
	if request.Model != nil {
		if request.Model.Provider == "" || request.Model.Model == "" {
			return Session{}, false, fmt.Errorf("%w: model needs provider and model", ErrInvalid)
		}
		payload.Model = *request.Model
	}
	if payload.Location, err = s.places.Resolve(ctx, request.Directory); err != nil {
		return Session{}, false, err
	}
	_, err = s.append(ctx, origin, request.ID, store.Exactly(-1), payload)
	switch {
	case errors.Is(err, store.ErrDeleted):
		return Session{}, false, &ConflictError{ID: request.ID, Reason: "a session that was deleted"}
	case errors.Is(err, store.ErrSequence): // another create of the same id won
		session, err = s.Get(ctx, request.ID)
		return session, false, err
	case err != nil:
		return Session{}, false, fmt.Errorf("create session: %w", err)
	}
	session, err = s.Get(ctx, request.ID)
	return session, true, err
}

// Get answers one session; ErrNotFound when there is none.
func (s *Sessions) Get(ctx context.Context, id string) (session Session, err error) {
	err = s.log.View(ctx, func(tx store.Tx) error {
		session, err = LoadSession(ctx, tx, id)
		return err
	})
	return session, err
}

// Activity answers what the session works on, nil when it is idle.
func (s *Sessions) Activity(ctx context.Context, id string) (activity *Activity, err error) {
	err = s.log.View(ctx, func(tx store.Tx) error {
		if _, err := LoadSession(ctx, tx, id); err != nil {
			return err
		}
		running, err := LoadActivity(ctx, tx, id)
		if isMissing(err) {
			return nil
		}
		activity = &running
		return err
	})
	return activity, err
}

// PromptRequest asks for the admission of a prompt. An empty ID is made; Delivery
// is Steer when empty.
type PromptRequest struct {
	ID       string
	Session  string
	Prompt   Prompt
	Delivery Delivery
	// AdmitOnly leaves the prompt for a later wake or resume.
	AdmitOnly bool
}

// Admit records the prompt durably and answers its receipt; nothing has run when
// it returns. An exact retry answers the stored receipt and wakes again; the same
// id with another session, body or delivery is a *ConflictError.
func (s *Sessions) Admit(ctx context.Context, origin Origin, request PromptRequest) (Input, error) {
	if request.Delivery == "" {
		request.Delivery = Steer
	}
	if request.Delivery != Steer && request.Delivery != Queue {
		return Input{}, fmt.Errorf("%w: delivery is %q; it must be steer or queue", ErrInvalid, clip(string(request.Delivery)))
	}
	if err := request.Prompt.check(); err != nil {
		return Input{}, err
	}
	canonical, err := request.Prompt.Canonical()
	if err != nil {
		return Input{}, err
	}
	if _, err := s.Get(ctx, request.Session); err != nil {
		return Input{}, err
	}
	if request.ID == "" {
		request.ID = s.encoder.IDs.New(PrefixMessage)
	} else if err := CheckID(PrefixMessage, request.ID); err != nil {
		return Input{}, err
	}
	input, err := s.Input(ctx, request.ID)
	if errors.Is(err, ErrNotFound) {
		input, err = s.admit(ctx, origin, request)
	}
	if err != nil {
		return Input{}, err
	}
	if reason := differs(input, request, canonical); reason != "" {
		return Input{}, &ConflictError{ID: request.ID, Reason: reason}
	}
	if request.AdmitOnly {
		return input, nil
	}
	return s.wake(ctx, origin, input)
}

// admit appends the admission. A race that another request of the same id won
// answers the winner's row.
func (s *Sessions) admit(ctx context.Context, origin Origin, request PromptRequest) (Input, error) {
	_, err := s.append(ctx, origin, request.Session, store.Any(), PromptAdmitted{
		Message: request.ID, Prompt: request.Prompt, Delivery: request.Delivery, Wake: !request.AdmitOnly,
	})
	var conflict *ConflictError
	switch {
	case errors.As(err, &conflict):
		input, loadErr := s.Input(ctx, request.ID)
		if errors.Is(loadErr, ErrNotFound) {
			return Input{}, conflict
		}
		return input, loadErr
	case err != nil:
		return Input{}, fmt.Errorf("admit prompt: %w", err)
	}
	return s.Input(ctx, request.ID)
}

// differs says what an admitted prompt is that the request does not repeat exactly. It
// is compared with what was admitted, whatever became of it since.
func differs(input Input, request PromptRequest, canonical []byte) string {
	if input.Session != request.Session {
		return "a prompt of another session"
	}
	admitted := input.Digest
	if admitted == "" { // admitted before digests were kept; it could not be edited then
		stored, err := input.Prompt.Canonical()
		if err != nil {
			return "a prompt that cannot be compared"
		}
		admitted = admissionDigest(stored, input.Delivery)
	}
	if admitted != admissionDigest(canonical, request.Delivery) {
		return "another prompt, or one with another delivery"
	}
	return ""
}

// wake makes the request for execution durable when the admission did not ask for
// it, and tells the coordinator.
func (s *Sessions) wake(ctx context.Context, origin Origin, input Input) (Input, error) {
	if input.Wake < 0 && input.Promoted == nil {
		origin.Cause = input.ID
		if _, err := s.append(ctx, origin, input.Session, store.Any(), PromptWoken{Message: input.ID}); err != nil {
			return Input{}, fmt.Errorf("wake prompt: %w", err)
		}
		var err error
		if input, err = s.Input(ctx, input.ID); err != nil {
			return Input{}, err
		}
	}
	s.execution.Wake(input.Session, input.Wake)
	return input, nil
}

// Input answers one admitted prompt; ErrNotFound when there is none.
func (s *Sessions) Input(ctx context.Context, id string) (input Input, err error) {
	err = s.log.View(ctx, func(tx store.Tx) error {
		input, err = LoadInput(ctx, tx, id)
		return err
	})
	return input, err
}

// Inbox answers the prompts that wait, oldest first.
func (s *Sessions) Inbox(ctx context.Context, session string) (pending []Input, err error) {
	err = s.log.View(ctx, func(tx store.Tx) error {
		if _, err := LoadSession(ctx, tx, session); err != nil {
			return err
		}
		pending, err = LoadPending(ctx, tx, session)
		return err
	})
	return pending, err
}

// Messages answers up to limit transcript messages with Seq > after, oldest first.
func (s *Sessions) Messages(ctx context.Context, session string, after int64, limit int) (messages []Message, err error) {
	err = s.log.View(ctx, func(tx store.Tx) error {
		if _, err := LoadSession(ctx, tx, session); err != nil {
			return err
		}
		messages, err = LoadMessages(ctx, tx, session, after, limit)
		return err
	})
	return messages, err
}

// Interrupt records the interrupt durably, also for an idle session, stops the
// work of earlier admissions and waits until it has cleaned up. Pending prompts
// stay. It answers the sequence of the boundary.
func (s *Sessions) Interrupt(ctx context.Context, origin Origin, session string) (int64, error) {
	if _, err := s.Get(ctx, session); err != nil {
		return 0, err
	}
	events, err := s.append(ctx, origin, session, store.Any(), InterruptRequested{})
	if err != nil {
		return 0, fmt.Errorf("interrupt: %w", err)
	}
	return events[0].Seq, s.execution.Interrupt(ctx, session, events[0].Seq)
}

// Resume asks durably for at least one provider turn and does not wait for it. It
// answers the sequence of the request.
func (s *Sessions) Resume(ctx context.Context, origin Origin, session string) (int64, error) {
	if _, err := s.Get(ctx, session); err != nil {
		return 0, err
	}
	events, err := s.append(ctx, origin, session, store.Any(), ResumeRequested{})
	if err != nil {
		return 0, fmt.Errorf("resume: %w", err)
	}
	s.execution.Wake(session, events[0].Seq)
	return events[0].Seq, nil
}

func (s *Sessions) append(ctx context.Context, origin Origin, aggregate string, mode store.Mode, payload Payload) ([]store.Event, error) {
	events, err := s.encoder.Encode(origin, payload)
	if err != nil {
		return nil, err
	}
	return s.log.Append(ctx, store.Batch{Aggregate: aggregate, Mode: mode, Events: events})
}
