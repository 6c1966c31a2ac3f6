package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// Config bounds a runner.
type Config struct {
	// MaxTurns is how many provider turns one activity may take; 0 means any.
	MaxTurns int
	// MaxParallelTools is how many tools of one turn run at once, at least 1.
	MaxParallelTools int
	// ContextTimeout is how long a context source may take.
	ContextTimeout time.Duration
}

// DefaultConfig is what design/session.md decides.
func DefaultConfig() Config {
	return Config{MaxTurns: 25, MaxParallelTools: 16, ContextTimeout: 2 * time.Second}
}

// Services is what a runner works with.
type Services struct {
	Log         store.Log
	Encoder     session.Encoder
	Kinds       session.Kinds
	Registries  *registry.Registries
	Permissions *session.Permissions
	Live        *session.Live
	Logger      hclog.Logger
}

// Runner drains sessions. What it keeps between drains is resumes that none has taken up.
type Runner struct {
	Services
	config Config

	mu      sync.Mutex
	resumes map[string]int64 // by session, until the drain that takes it ends
}

// New makes a runner.
func New(services Services, config Config) *Runner {
	return &Runner{Services: services, config: config, resumes: map[string]int64{}}
}

// drain is one drain of one session.
type drain struct {
	*Runner
	session string
	fence   int64
}

// Drain works on the session until nothing is eligible. It does nothing unless a
// resume or a prompt asks for execution that is newer than the last interrupt. A failed activity ends the drain with its *session.Failure;
// what is pending stays so until the next wake.
func (r *Runner) Drain(ctx context.Context, work *session.Work) error {
	resume := r.resumed(work.Session)
	defer r.endResume(work.Session, resume)
	d, err := r.begin(ctx, work.Session)
	if err != nil {
		return err
	}
	current, pending, err := d.state(ctx)
	if err != nil {
		return err
	}
	force := resume > current.Interrupt
	if !force && !woken(current, pending) {
		return nil
	}
	if err := d.recover(ctx, current); err != nil {
		return err
	}
	opener := session.OpenedByResume
	if !force {
		opener = session.OpenedByPrompt
	}
	for force || len(pending) > 0 {
		if err := d.activity(ctx, opener, promotionOf(pending)); err != nil {
			return err
		}
		if _, pending, err = d.state(ctx); err != nil {
			return err
		}
		force, opener = false, session.OpenedByPrompt
	}
	return nil
}

// Recover settles what a process that died left open: tools that ran fail as
// interrupted and are never run again, and the activity ends.
func (r *Runner) Recover(ctx context.Context, id string) error {
	d, err := r.begin(ctx, id)
	if err != nil {
		return err
	}
	current, _, err := d.state(ctx)
	if err != nil {
		return err
	}
	return d.recover(ctx, current)
}

func (r *Runner) begin(ctx context.Context, id string) (*drain, error) {
	fence, err := r.Log.Acquire(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", id, err)
	}
	return &drain{Runner: r, session: id, fence: fence}, nil
}

func (d *drain) state(ctx context.Context) (current session.Session, pending []session.Input, err error) {
	err = d.Log.View(ctx, func(tx store.Tx) error {
		if current, err = session.LoadSession(ctx, tx, d.session); err != nil {
			return err
		}
		pending, err = session.LoadPending(ctx, tx, d.session)
		return err
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause // an interrupt or a shutdown, whatever the store made of it
	}
	if err != nil {
		return session.Session{}, nil, fmt.Errorf("read session: %w", err)
	}
	return current, pending, nil
}

func woken(current session.Session, pending []session.Input) bool {
	for _, input := range pending {
		if input.Wake > current.Interrupt {
			return true
		}
	}
	return false
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
	return nil
}
