package session

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/store"
)

// Tasks runs prompts in child sessions for the calls of their parents. What a task
// is and how it ended stands in the parent's log, what it did in the child's; a task
// in the background goes on over restarts.
//
// A child keeps the place it was made in when its parent moves. With the parent, its
// tasks are forgotten and the children are removed (Sessions.Remove).
type Tasks struct {
	log      store.Log
	encoder  Encoder
	sessions *Sessions
	waker    Waker
	agents   *Agents
	logger   hclog.Logger

	starting sync.Mutex // from the checks of a task to its record

	ctx    context.Context // of the followers
	cancel context.CancelCauseFunc
	group  sync.WaitGroup
	mu     sync.Mutex
	closed bool
	held   map[string]struct{} // prompts of the tasks that somebody here follows or ends
}

// Waker is told of the event at seq that left work in a session. *Coordinator is one.
type Waker interface {
	Wake(session string, seq int64)
}

// TaskCaller is the call that opens a task.
type TaskCaller struct {
	Session  string
	Message  string
	Call     string
	Agent    string // that the call's turn works as
	Model    ModelRef
	Location Location
	Fence    int64
}

// NewTasks makes tasks whose children wake through waker.
func NewTasks(log store.Log, encoder Encoder, sessions *Sessions, waker Waker, agents *Agents, logger hclog.Logger) *Tasks {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Tasks{log: log, encoder: encoder, sessions: sessions, waker: waker, agents: agents, logger: logger,
		ctx: ctx, cancel: cancel, held: map[string]struct{}{}}
}

// Run gives the task to a child session. In the foreground it waits for the child and
// answers its last text; in the background it answers as soon as the child is on its
// way, and the result comes to the parent's inbox, whatever becomes of the call, the
// parent's activity and the host meanwhile.
//
// What the model can do something about is a *ToolError: a task that is refused, and
// a child that failed, was interrupted or was halted. When ctx ends first, the error
// is its cause: the child is stopped and waited for, unless the host shuts down, which
// parks the child by itself.
func (t *Tasks) Run(ctx context.Context, caller TaskCaller, task Task) (TaskResult, error) {
	started, err := t.begin(ctx, caller, task)
	if err != nil {
		return TaskResult{}, err
	}
	if task.Background {
		t.background(caller.Session, started)
		return TaskResult{Session: started.Session}, nil
	}
	t.hold(started.Prompt)
	defer t.release(started.Prompt)
	mode := store.Fenced(caller.Fence)
	end, _, err := t.follow(ctx, started, true)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		if errors.Is(cause, ErrShutdown) {
			return TaskResult{}, cause
		}
		if err := t.stop(context.WithoutCancel(ctx), caller.Session, started, mode); err != nil {
			return TaskResult{}, errors.Join(cause, err)
		}
		return TaskResult{}, cause
	}
	if err != nil {
		return TaskResult{}, err
	}
	if err := t.conclude(context.WithoutCancel(ctx), caller.Session, started, end, mode); err != nil {
		return TaskResult{}, err
	}
	if end.outcome != Completed {
		return TaskResult{}, end.toolError(started)
	}
	return TaskResult{Session: started.Session, Text: end.text}, nil
}

// begin checks the task, records it in the parent, then makes or wakes the child. The
// child's first events are one append: there is none without its prompt.
func (t *Tasks) begin(ctx context.Context, caller TaskCaller, task Task) (TaskStarted, error) {
	if err := t.check(caller, task); err != nil {
		return TaskStarted{}, err
	}
	t.starting.Lock()
	defer t.starting.Unlock()
	started := TaskStarted{Message: caller.Message, Call: caller.Call, Session: task.Session, Prompt: t.encoder.IDs.New(PrefixMessage),
		Agent: task.Agent, Description: task.Description, Background: task.Background}
	if task.Session == "" {
		started.Session = t.encoder.IDs.New(PrefixSession)
	}
	mode, payloads, err := t.opening(ctx, caller, task, started)
	if err != nil {
		return TaskStarted{}, err
	}
	recorded, err := t.append(ctx, System(), caller.Session, store.Fenced(caller.Fence), started)
	if err != nil {
		return TaskStarted{}, fmt.Errorf("record task: %w", err)
	}
	ctx = context.WithoutCancel(ctx)
	origin := System()
	origin.Cause = recorded[0].ID
	events, err := t.append(ctx, origin, started.Session, mode, payloads...)
	if err != nil {
		err = fmt.Errorf("begin task %s: %w", started.Session, err)
		_, ended := t.append(ctx, origin, caller.Session, store.Fenced(caller.Fence),
			TaskEnded{Session: started.Session, Prompt: started.Prompt, Outcome: Failed})
		return TaskStarted{}, errors.Join(err, ended)
	}
	if _, err := t.sessions.Get(ctx, caller.Session); errors.Is(err, store.ErrDeleted) { // it was removed meanwhile
		return TaskStarted{}, errors.Join(err, t.sessions.removeUnder(ctx, caller.Session))
	}
	t.waker.Wake(started.Session, events[len(events)-1].Seq)
	return started, nil
}

func (t *Tasks) append(ctx context.Context, origin Origin, session string, mode store.Mode, payloads ...Payload) ([]store.Event, error) {
	events, err := t.encoder.Encode(origin, payloads...)
	if err != nil {
		return nil, err
	}
	return t.log.Append(ctx, store.Batch{Aggregate: session, Mode: mode, Events: events})
}
