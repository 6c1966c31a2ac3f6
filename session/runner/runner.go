package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/compaction"
	"github.com/plinthhost/plinth/session/epoch"
	"github.com/plinthhost/plinth/session/schema"
	"github.com/plinthhost/plinth/store"
)

// Config bounds a runner.
type Config struct {
	// MaxTurns is how many provider turns one activity may take; 0 means any.
	MaxTurns int
	// MaxCalls is how many tools one turn may call, at least 1.
	MaxCalls int
	// MaxParallelTools is how many tools of one turn run at once, at least 1.
	MaxParallelTools int
	// ContextTimeout is how long a context source may take.
	ContextTimeout time.Duration
	// FirstEvent and Idle are how long a provider may be silent before and after its
	// first event, where the model does not say.
	FirstEvent, Idle time.Duration
	// Retries is how often a turn is tried again before any output; MaxRetryWait is
	// the longest wait that a provider may ask for.
	Retries      int
	MaxRetryWait time.Duration
	// FormatRetries is how often a model is reminded of a structured answer.
	FormatRetries int
	// Recovery decides on a turn whose outcome a crash left unknown, and Recoveries is
	// how many crashes one activity may survive.
	Recovery   session.RecoveryPolicy
	Recoveries int
	// Output bounds what a model reads of one settlement.
	Output session.OutputLimits
	// Budgets are the operator's.
	Budgets []session.Budget
	// Compaction says when and how a history is condensed.
	Compaction compaction.Settings
}

// DefaultConfig is what design/session.md decides.
func DefaultConfig() Config {
	return Config{MaxTurns: 25, MaxCalls: 128, MaxParallelTools: 16, ContextTimeout: 2 * time.Second,
		FirstEvent: time.Minute, Idle: 2 * time.Minute, Retries: 4, MaxRetryWait: 15 * time.Minute, FormatRetries: 2,
		Recovery: session.RecoverAsk, Recoveries: 3,
		Compaction: compaction.DefaultSettings()}
}

// Services is what a runner works with. Snapshots, Tasks and Skills may be nil.
type Services struct {
	Log         store.Log
	Encoder     session.Encoder
	Kinds       session.Kinds
	Registries  *registry.Registries
	Permissions *session.Permissions
	Agents      *session.Agents
	Models      session.Models
	Schemas     *schema.Cache
	Blobs       store.Blobs
	Live        *session.Live
	Outputs     session.OutputFiles
	Snapshots   session.Snapshots
	Tasks       *session.Tasks
	Todos       *session.TodoLists
	Skills      session.SkillFinder // nil for none
	// Completed is told of each session whose activity has completed; nil for nobody.
	Completed func(session string)
	Logger    hclog.Logger
}

// Runner drains sessions. It keeps no state of its own between drains but counts.
type Runner struct {
	Services
	config  Config
	metrics *epoch.Metrics
}

// New makes a runner.
func New(services Services, config Config) *Runner {
	return &Runner{Services: services, config: config, metrics: &epoch.Metrics{}}
}

// Drain works on the session until nothing is eligible: first on what was left
// unfinished, then on a compaction that somebody asks for, then on a resume or on prompts that ask for execution and are newer
// than the last interrupt, then on what else is pending. A failed activity ends the
// drain with its *session.Failure; what is pending stays so until the next wake. One
// whose ctx ends answers the cause, whatever it was about to read.
func (r *Runner) Drain(ctx context.Context, work *session.Work) (err error) {
	defer func() {
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
			err = cause
		}
	}()
	d, err := r.begin(ctx, work.Session)
	if err != nil {
		return err
	}
	d.work = work
	s, err := d.state(ctx)
	if err != nil {
		return err
	}
	if err := d.dangling(ctx, s.session); err != nil {
		return err
	}
	if s.activity != nil {
		err := d.proceed(ctx, s)
		for errors.Is(err, session.ErrResolved) { // a person answered what was to be withdrawn
			if s, err = d.state(ctx); err == nil && s.activity != nil {
				err = d.proceed(ctx, s)
			}
		}
		if err != nil {
			return err
		}
		if s, err = d.state(ctx); err != nil || s.activity != nil {
			return err // it waits for a person
		}
	}
	if s.session.Compact >= 0 && !d.parked() {
		if err := d.condense(ctx); err != nil {
			return err
		}
	}
	for asked := s.session.Resume >= 0 || s.woken(); asked; asked = s.session.Resume >= 0 || len(s.pending) > 0 {
		if d.parked() {
			return nil // the next host finds it
		}
		opener := session.OpenedByPrompt
		if s.session.Resume >= 0 {
			opener = session.OpenedByResume
		}
		if err := d.activity(ctx, newActivity(d, opener, promotionOf(s.pending))); err != nil {
			return err
		}
		if s, err = d.state(ctx); err != nil {
			return err
		}
	}
	return nil
}

// drain is one drain of one session.
type drain struct {
	*Runner
	work    *session.Work // nil while a host starts
	session string
	fence   int64
}

func (r *Runner) begin(ctx context.Context, id string) (*drain, error) {
	fence, err := r.Log.Acquire(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", id, err)
	}
	return &drain{Runner: r, session: id, fence: fence}, nil
}

// parked reports whether the host shuts down.
func (d *drain) parked() bool {
	select {
	case <-d.work.Parking():
		return true
	default:
		return false
	}
}

// state is what a drain decides by.
type state struct {
	session  session.Session
	pending  []session.Input
	activity *session.Activity // nil when idle
}

// woken reports whether a pending prompt asks for execution since the last interrupt.
func (s state) woken() bool {
	for _, input := range s.pending {
		if input.Wake > s.session.Interrupt {
			return true
		}
	}
	return false
}

func (d *drain) state(ctx context.Context) (s state, err error) {
	err = d.Log.View(ctx, func(tx store.Tx) error {
		if s.session, err = session.LoadSession(ctx, tx, d.session); err != nil {
			return err
		}
		if s.pending, err = session.LoadPending(ctx, tx, d.session); err != nil {
			return err
		}
		activity, err := session.LoadActivity(ctx, tx, d.session)
		if errors.Is(err, session.ErrNotFound) {
			return nil
		}
		s.activity = &activity
		return err
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause // an interrupt or a shutdown, whatever the store made of it
	}
	if err != nil {
		return state{}, fmt.Errorf("read session: %w", err)
	}
	return s, nil
}

// append records facts of the drain. It is not interrupted: what happened is
// recorded whatever becomes of ctx.
func (d *drain) append(ctx context.Context, payloads ...session.Payload) error {
	if len(payloads) == 0 {
		return nil
	}
	events, err := d.Encoder.Encode(session.System(), payloads...)
	if err != nil {
		return err
	}
	_, err = d.Log.Append(context.WithoutCancel(ctx), store.Batch{Aggregate: d.session, Mode: store.Fenced(d.fence), Events: events})
	if err != nil {
		return fmt.Errorf("append to %s: %w", d.session, err)
	}
	if requests := requestsOf(payloads); len(requests) > 0 {
		d.Permissions.Told(context.WithoutCancel(ctx), d.session, requests...)
	}
	return nil
}

// requestsOf answers the requests that a drain itself opens or closes, which the
// session's ancestors are told of.
func requestsOf(payloads []session.Payload) []string {
	var requests []string
	for _, payload := range payloads {
		switch e := payload.(type) {
		case session.PermissionAsked:
			requests = append(requests, e.Request)
		case session.PermissionReplied:
			requests = append(requests, e.Request)
		case session.QuestionDismissed:
			requests = append(requests, e.Request)
		}
	}
	return requests
}
