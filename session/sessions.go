package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/store"
)

// Places resolves a directory that a client names to a Location, or says why a
// session cannot work there.
type Places interface {
	Resolve(ctx context.Context, directory string) (Location, error)
}

// Execution is what the sessions ask of the coordinator.
type Execution interface {
	// Wake says that the event at seq left work.
	Wake(session string, seq int64)
	// Interrupt stops what was asked for before seq and waits until it has stopped.
	Interrupt(ctx context.Context, session string, seq int64) error
	// Settle waits until nothing works on the session.
	Settle(ctx context.Context, session string) error
	// Running reports whether something works on it.
	Running(session string) bool
}

// Sessions creates sessions, admits prompts, carries out the commands on both and
// answers what is known of them.
type Sessions struct {
	log       store.Log
	encoder   Encoder
	places    Places
	execution Execution
	options   SessionOptions
	inboxes   *inboxLocks
	readers   *readers
}

// SessionOptions hold what a program decides for all its sessions.
type SessionOptions struct {
	Defaults Defaults
	// Limits on an inbox; those of DefaultLimits where they are 0.
	Limits Limits
	// Agents checks the names of agents; nil takes any.
	Agents *Agents
	// Models says which models may be used; nil takes any.
	Models Models
	// Slug names a new session for people, another name with every try; nil names none.
	Slug func(id string, try int) string
	// Snapshots are of the files around steps; nil for none.
	Snapshots Snapshots
	// Files checks the files of a prompt before it is admitted; nil refuses them.
	Files func(ctx context.Context, files []PromptFile) error
}

// Defaults hold what a session has when its creator does not say.
type Defaults struct {
	Agent string
	Model ModelRef
}

// NewSessions wires the commands on sessions.
func NewSessions(log store.Log, encoder Encoder, places Places, execution Execution, options SessionOptions) *Sessions {
	options.Limits = options.Limits.orDefault()
	return &Sessions{log: log, encoder: encoder, places: places, execution: execution, options: options, inboxes: newInboxLocks(), readers: newReaders()}
}

// CreateRequest asks for a session. Everything but the directory may be empty.
type CreateRequest struct {
	ID        string
	Directory string
	// Title is one line of at most MaxTitle characters.
	Title string
	Agent string
	Model *ModelRef
	// Parent and Depth are of a session that a call of another one makes.
	Parent  string
	Depth   int
	Rules   []Rule
	Budgets []Budget
}

// Create makes a session, or answers the one that has the id already, unchanged.
func (s *Sessions) Create(ctx context.Context, origin Origin, request CreateRequest) (session Session, created bool, err error) {
	if request.ID != "" {
		if err := CheckID(PrefixSession, request.ID); err != nil {
			return Session{}, false, err
		}
		existing, err := s.Get(ctx, request.ID)
		if errors.Is(err, store.ErrDeleted) {
			err = &ConflictError{ID: request.ID, Reason: "a session that was deleted"}
		}
		if err == nil || !errors.Is(err, ErrNotFound) {
			return existing, false, err
		}
	} else {
		request.ID = s.encoder.IDs.New(PrefixSession)
	}
	payload, err := s.created(ctx, request)
	if err != nil {
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

// created checks the request and fills in the defaults.
func (s *Sessions) created(ctx context.Context, request CreateRequest) (payload Created, err error) {
	payload = Created{Title: request.Title, Agent: request.Agent, Model: s.options.Defaults.Model, Parent: request.Parent,
		Depth: request.Depth, Rules: request.Rules, Budgets: request.Budgets}
	place := func() (Location, error) { return s.resolve(ctx, request.Directory) }
	if request.Title != "" {
		if payload.Title, err = cleanTitle(request.Title); err != nil {
			return Created{}, err
		}
	}
	if payload.Agent == "" {
		payload.Agent = s.options.Defaults.Agent
	} else if err := s.checkAgent("agent", payload.Agent, place); err != nil {
		return Created{}, err
	}
	if agents := s.agentsFor(payload.Agent, place); agents != nil {
		if agent, ok := agents.Agent(payload.Agent); ok && agent.Model != nil {
			payload.Model = *agent.Model
		}
	}
	if request.Model != nil {
		if err := request.Model.check("model"); err != nil {
			return Created{}, err
		}
		payload.Model = *request.Model
	}
	if err := s.checkModel(ctx, "model", payload.Model); err != nil {
		return Created{}, err
	}
	if err := checkRules(request.Rules); err != nil {
		return Created{}, err
	}
	if err := checkBudgets(request.Budgets); err != nil {
		return Created{}, err
	}
	if payload.Location, err = s.resolve(ctx, request.Directory); err != nil {
		return Created{}, err
	}
	payload.Slug, err = s.slug(ctx, request.ID)
	return payload, err
}

// resolve answers the place of a directory on this machine.
func (s *Sessions) resolve(ctx context.Context, directory string) (Location, error) {
	location, err := s.places.Resolve(ctx, directory)
	if err == nil && location.Workspace != "" {
		err = fmt.Errorf("%w: location.workspace is %q; sessions work on this machine, leave it out", ErrInvalid, clip(location.Workspace))
	}
	return location, err
}

// checkAgent checks an agent that a person chooses for a session of a place.
func (s *Sessions) checkAgent(field, name string, place func() (Location, error)) error {
	if err := checkName(field, name); err != nil {
		return err
	}
	agents := s.agentsFor(name, place)
	if agents == nil {
		return nil
	}
	return agents.Choose(field, name)
}

// agentsFor is the set in which to look for an agent: that of the place when no other has
// the name. Nil checks nothing.
func (s *Sessions) agentsFor(name string, place func() (Location, error)) *Agents {
	agents := s.options.Agents
	if agents == nil || agents.local == nil {
		return agents
	}
	if _, known := agents.Agent(name); known {
		return agents
	}
	location, err := place()
	if err != nil {
		return agents
	}
	return agents.At(location)
}

// placeOf answers where a session works.
func (s *Sessions) placeOf(ctx context.Context, session string) func() (Location, error) {
	return func() (Location, error) {
		current, err := s.Get(ctx, session)
		return current.Location, err
	}
}

// checkModel refuses a model that may not be used, in the words of who knows the models.
func (s *Sessions) checkModel(ctx context.Context, field string, model ModelRef) error {
	if s.options.Models == nil {
		return nil
	}
	_, err := s.options.Models.Model(ctx, model)
	if unusable, ok := errors.AsType[*ModelError](err); ok {
		return fmt.Errorf("%w: %s: %w", ErrInvalid, field, unusable)
	}
	return err
}

// Get answers one session; ErrNotFound when there is none, store.ErrDeleted when it was
// removed.
func (s *Sessions) Get(ctx context.Context, id string) (session Session, err error) {
	err = s.log.View(ctx, func(tx store.Tx) error {
		session, err = LoadSession(ctx, tx, id)
		return err
	})
	return session, s.missing(ctx, id, err)
}

// view reads of a session that exists; ErrNotFound when it does not, store.ErrDeleted
// when it was removed.
func (s *Sessions) view(ctx context.Context, id string, read func(tx store.Tx) error) error {
	there := false
	err := s.log.View(ctx, func(tx store.Tx) error {
		if _, err := LoadSession(ctx, tx, id); err != nil {
			return err
		}
		there = true
		return read(tx)
	})
	if there {
		return err
	}
	return s.missing(ctx, id, err)
}

// missing tells a session that was removed from one that never was.
func (s *Sessions) missing(ctx context.Context, id string, err error) error {
	return missing(ctx, s.log, id, err)
}

func missing(ctx context.Context, log store.Log, id string, err error) error {
	if !isMissing(err) || !IsSessionID(id) {
		return err
	}
	if _, gone := log.Read(ctx, id, -1, 0); errors.Is(gone, store.ErrDeleted) {
		return fmt.Errorf("session %s: %w", clip(id), store.ErrDeleted)
	}
	return err
}

// Activity answers what the session works on, nil when it is idle.
func (s *Sessions) Activity(ctx context.Context, id string) (activity *Activity, err error) {
	err = s.view(ctx, id, func(tx store.Tx) error {
		activity, err = loadActivity(ctx, tx, id)
		return err
	})
	return activity, err
}

// loadActivity answers nil for an idle session.
func loadActivity(ctx context.Context, tx store.Tx, id string) (*Activity, error) {
	running, err := LoadActivity(ctx, tx, id)
	switch {
	case isMissing(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &running, nil
}

// Children answers the sessions that calls of this one made, oldest first.
func (s *Sessions) Children(ctx context.Context, id string) (children []Session, err error) {
	err = s.view(ctx, id, func(tx store.Tx) error {
		ids, err := LoadChildren(ctx, tx, id)
		if err != nil {
			return err
		}
		for _, child := range ids {
			session, err := LoadSession(ctx, tx, child)
			if err != nil {
				return err
			}
			children = append(children, session)
		}
		return nil
	})
	slices.SortFunc(children, func(a, b Session) int {
		if a.Created != b.Created {
			return int(a.Created - b.Created)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return children, err
}

// Totals answers what the session and its children have spent.
func (s *Sessions) Totals(ctx context.Context, id string) (totals Totals, err error) {
	err = s.view(ctx, id, func(tx store.Tx) error {
		totals, err = LoadTotals(ctx, tx, id)
		return err
	})
	return totals, err
}

// Messages answers up to limit transcript messages with Seq > after, oldest first.
func (s *Sessions) Messages(ctx context.Context, session string, after int64, limit int) (messages []Message, err error) {
	err = s.view(ctx, session, func(tx store.Tx) error {
		messages, err = LoadMessages(ctx, tx, session, after, limit)
		return err
	})
	return messages, err
}

// Timeline is Messages with the parts that Message.Timeline derives.
func (s *Sessions) Timeline(ctx context.Context, session string, after int64, limit int) ([]Message, error) {
	messages, err := s.Messages(ctx, session, after, limit)
	for i := range messages {
		messages[i].Parts = messages[i].Timeline()
	}
	return messages, err
}

func (s *Sessions) append(ctx context.Context, origin Origin, aggregate string, mode store.Mode, payloads ...Payload) ([]store.Event, error) {
	events, err := s.encoder.Encode(origin, payloads...)
	if err != nil {
		return nil, err
	}
	return s.log.Append(ctx, store.Batch{Aggregate: aggregate, Mode: mode, Events: events})
}
