package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/plinthhost/plinth/session"
)

// callHost is the session as one tool call sees it.
type callHost struct {
	*reading
	turn     *turn
	run      toolRun
	plugin   string
	declined atomic.Bool
	held     atomic.Bool // an ask was left open by a shutdown
}

// asker is the turn, or one call of it, as it asks people.
func (t *turn) asker() session.Asker {
	return session.Asker{Session: t.session, Agent: t.agent.Name, Location: t.current.Location, Fence: t.fence}
}

func (h *callHost) asker() session.Asker {
	asker := h.turn.asker()
	asker.Message, asker.Call, asker.Earlier = h.run.message, h.run.call, h.run.earlier
	return asker
}

// authorise asks what is asked before a tool runs: whether it goes round in circles,
// and the tool's own permission.
func (h *callHost) authorise(ctx context.Context, definition session.ToolDefinition) error {
	if h.run.repeats >= maxRepeats-1 {
		request := session.PermissionRequest{Action: "doom_loop", Resources: []string{h.run.name}, Before: true}
		if err := h.ask(ctx, request); err != nil {
			return err
		}
	}
	if definition.Permission.ByOperation {
		return nil
	}
	request := ownPermission(h.run, definition.Permission)
	request.Before = true
	return h.Authorise(ctx, request)
}

// Authorise decides under the agent that the turn sampled. A person's refusal
// without a word halts the activity once the call has settled.
func (h *callHost) Authorise(ctx context.Context, request session.PermissionRequest) error {
	request.Plugin = h.plugin
	return h.ask(ctx, request)
}

func (h *callHost) ask(ctx context.Context, request session.PermissionRequest) error {
	return h.waited(ctx, request.Before, func(ctx context.Context) error {
		return h.turn.Permissions.Authorise(ctx, h.asker(), request)
	})
}

// Question puts questions to the person who follows the session.
func (h *callHost) Question(ctx context.Context, questions []session.Question, before bool) (answers [][]string, err error) {
	err = h.waited(ctx, before, func(ctx context.Context) (err error) {
		answers, err = h.turn.Permissions.Ask(ctx, h.asker(), questions, before)
		return err
	})
	return answers, err
}

// waited waits for a person, until the host shuts down. What had no effect yet is
// left open then.
func (h *callHost) waited(ctx context.Context, before bool, wait func(context.Context) error) error {
	if before {
		parked, cancel := h.turn.untilParked(ctx)
		defer cancel(nil)
		ctx = parked
	}
	err := wait(ctx)
	var denied *session.DeniedError
	switch {
	case errors.As(err, &denied) && denied.Declined:
		h.declined.Store(true)
		return errors.Join(errDeclined, err)
	case err != nil && before && errors.Is(context.Cause(ctx), session.ErrShutdown):
		h.held.Store(true)
		return errHeld
	}
	return err
}

// untilParked answers a context that ends when the host shuts down, too. Its goroutine
// ends with it.
func (d *drain) untilParked(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-d.work.Parking():
			cancel(session.ErrShutdown)
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// Effects answers what would become of each resource, without asking anybody.
func (h *callHost) Effects(ctx context.Context, action string, resources []string) ([]session.Effect, error) {
	return h.turn.Permissions.Effects(ctx, h.asker(), h.plugin, action, resources)
}

// Progress shows a line of the call to who follows live.
func (h *callHost) Progress(text string) {
	h.turn.Live.Append(h.turn.session, h.run.message, h.run.call, session.LiveToolProgress, text+"\n")
}

// Describe tells of the session as the turn found it.
func (h *callHost) Describe(context.Context) (session.Description, error) {
	return session.Description{Title: h.turn.current.Title, Model: h.turn.current.Model}, nil
}

// RunTask runs a prompt in a child session.
func (h *callHost) RunTask(ctx context.Context, task session.Task) (session.TaskResult, error) {
	if h.turn.Tasks == nil {
		return session.TaskResult{}, &session.ToolError{Kind: "unavailable", Message: "This host runs no child sessions"}
	}
	if err := h.Authorise(ctx, session.PermissionRequest{Action: "task", Resources: []string{task.Agent}, Save: session.Savable(task.Agent)}); err != nil {
		return session.TaskResult{}, err
	}
	return h.turn.Tasks.Run(ctx, session.TaskCaller{Session: h.turn.session, Message: h.run.message, Call: h.run.call,
		Agent: h.turn.agent.Name, Model: h.turn.current.Model, Location: h.turn.current.Location, Fence: h.turn.fence}, task)
}

// Todos answers the session's list.
func (h *callHost) Todos(ctx context.Context) ([]session.Todo, error) {
	return h.turn.Todos.Todos(ctx, h.turn.session)
}

// SetTodos replaces it.
func (h *callHost) SetTodos(ctx context.Context, todos []session.Todo) error {
	return h.turn.Todos.SetTodos(ctx, h.asker(), todos)
}

// actionSkill is the permission action of using a skill, which is the resource.
const actionSkill = "skill"

// Skills answers the skills that the agent may use.
func (h *callHost) Skills(ctx context.Context) ([]session.Skill, error) {
	if h.turn.Skills == nil {
		return nil, nil
	}
	all, err := h.turn.Skills.Skills(ctx, h.turn.current.Location)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	names := make([]string, len(all))
	for i, skill := range all {
		names[i] = skill.Name
	}
	effects, err := h.Effects(ctx, actionSkill, names)
	if err != nil {
		return nil, err
	}
	var permitted []session.Skill
	for i, skill := range all {
		if effects[i] != session.Deny {
			permitted = append(permitted, session.Skill{Name: skill.Name, Description: skill.Description})
		}
	}
	return permitted, nil
}

// Skill answers one, when the rules or a person allow its use.
func (h *callHost) Skill(ctx context.Context, name string) (session.Skill, error) {
	if h.turn.Skills == nil {
		return session.Skill{}, fmt.Errorf("skill %q: %w", name, session.ErrNotFound)
	}
	skill, err := h.turn.Skills.Skill(ctx, h.turn.current.Location, name)
	if err != nil {
		return session.Skill{}, err
	}
	return skill, h.Authorise(ctx, session.PermissionRequest{Action: actionSkill, Resources: []string{name}, Save: session.Savable(name)})
}

// ownPermission is what is asked for a tool whose operations do not ask.
func ownPermission(run toolRun, permission session.ToolPermission) session.PermissionRequest {
	request := session.PermissionRequest{Action: permission.Action, Resources: []string{"*"}, Save: []string{"*"}}
	if request.Action == "" {
		request.Action = run.name
	}
	var fields map[string]any
	if permission.Resource != "" && json.Unmarshal(run.input, &fields) == nil {
		if value, ok := fields[permission.Resource]; ok {
			resource := fmt.Sprint(value)
			request.Resources, request.Save = []string{resource}, session.Savable(resource)
		}
	}
	return request
}
