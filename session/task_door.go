package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/store"
)

// The limits of tasks.
const (
	// MaxTaskDepth is how many ancestors a session may have.
	MaxTaskDepth = 4
	// MaxRunningTasks is how many tasks of one session may run at a time.
	MaxRunningTasks = 16
)

// check refuses what is wrong with a task whatever runs in the session.
func (t *Tasks) check(caller TaskCaller, task Task) error {
	switch {
	case strings.TrimSpace(task.Description) == "":
		return refuse("invalid_input", "description is empty; say in a few words what the task is")
	case strings.TrimSpace(task.Prompt) == "":
		return refuse("invalid_input", "prompt is empty; the child knows only what it says")
	}
	if _, err := cleanLine("description", task.Description); err != nil { // it is the child's title
		return refuse("invalid_input", "%s; a few words are enough", strings.TrimPrefix(err.Error(), ErrInvalid.Error()+": "))
	}
	prompt := Prompt{Text: task.Prompt}
	if _, err := prompt.checked(); err != nil {
		return refuse("invalid_input", "%v", err)
	}
	agents := t.agents.At(caller.Location)
	if _, ok := agents.Subagent(task.Agent); !ok {
		names := strings.Join(agents.Subagents(), ", ")
		if names == "" {
			names = "none; no agent takes tasks here"
		}
		return refuse("not_found", "agent is %q, which takes no tasks; those that do: %s", clip(task.Agent), names)
	}
	return nil
}

// opening refuses what the session has no room for, and answers the child's first
// events and how they are appended.
func (t *Tasks) opening(ctx context.Context, caller TaskCaller, task Task, started TaskStarted) (store.Mode, []Payload, error) {
	var parent Session
	var child *Session
	err := t.log.View(ctx, func(tx store.Tx) (err error) {
		if parent, err = LoadSession(ctx, tx, caller.Session); err != nil {
			return err
		}
		running, err := LoadTasks(ctx, tx, caller.Session)
		if err != nil {
			return err
		}
		if len(running) >= MaxRunningTasks {
			return refuse("limit", "%d tasks of this session run already, the limit is %d; wait for one of them", len(running), MaxRunningTasks)
		}
		if task.Session != "" {
			child, err = idleChild(ctx, tx, parent, task.Session, running)
			return err
		}
		if parent.Depth >= MaxTaskDepth {
			return refuse("limit", "this session is a task of a task, %d deep, and the limit is %d; do the work here", parent.Depth, MaxTaskDepth)
		}
		return nil
	})
	if err != nil {
		return store.Mode{}, nil, fmt.Errorf("open task: %w", err)
	}
	model, _ := t.agents.At(caller.Location).Subagent(task.Agent)
	if model == nil {
		model = &caller.Model
	}
	prompt := Prompt{Text: task.Prompt}
	if child != nil {
		if child.Agent != task.Agent {
			prompt.Agent, prompt.Model = task.Agent, model
		}
		return store.Any(), []Payload{PromptAdmitted{Message: started.Prompt, Prompt: prompt, Delivery: Steer, Wake: true}}, nil
	}
	created := Created{Title: strings.TrimSpace(task.Description), Location: caller.Location, Agent: task.Agent, Model: *model,
		Parent: parent.ID, Depth: parent.Depth + 1}
	return store.Exactly(-1), []Payload{created,
		PromptAdmitted{Message: started.Prompt, Prompt: prompt, Delivery: Steer, Wake: true}}, nil
}

// idleChild answers the child that a task goes on with.
func idleChild(ctx context.Context, tx store.Tx, parent Session, id string, running []TaskRecord) (*Session, error) {
	child, err := LoadSession(ctx, tx, id)
	if isMissing(err) || err == nil && child.Parent != parent.ID {
		return nil, refuse("not_found", "%s is no task of this session; leave session out to begin another", clip(id))
	}
	if err != nil {
		return nil, err
	}
	busy := false
	for _, task := range running {
		busy = busy || task.Session == id
	}
	if !busy {
		_, err := LoadActivity(ctx, tx, id)
		if err != nil && !isMissing(err) {
			return nil, err
		}
		busy = err == nil
	}
	if !busy {
		pending, err := LoadPending(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		busy = len(pending) > 0
	}
	if busy {
		return nil, refuse("conflict", "session %s is still at work; wait for its end, or leave session out to begin another", id)
	}
	return &child, nil
}

func refuse(kind, format string, args ...any) *ToolError {
	return &ToolError{Kind: kind, Message: fmt.Sprintf(format, args...)}
}
