package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// toolRun is one recorded call.
type toolRun struct {
	message string
	call    string
	name    string
	input   json.RawMessage
	valid   bool // the arguments are JSON
}

// start runs the tool beside the stream. Its settlement is recorded whatever
// becomes of ctx, and before the turn ends.
func (t *turn) start(ctx context.Context, run toolRun) {
	t.calls.Go(func() {
		output, err := t.execute(ctx, run)
		t.Live.End(t.session, run.message, run.call, session.LiveToolProgress)
		revision := t.tools[run.name].Revision
		var settlement session.Payload
		if err != nil {
			settlement = session.ToolFailed{Message: run.message, Call: run.call, Error: t.toolError(ctx, run, err), Revision: revision}
		} else {
			settlement = session.ToolSucceeded{Message: run.message, Call: run.call, Content: output.Content, Structured: output.Structured,
				Title: output.Title, Metadata: output.Metadata, Revision: revision}
		}
		if t.record(ctx, settlement) == nil && errors.Is(err, errDeclined) {
			t.cancel(errDeclined)
		}
	})
}

func (t *turn) execute(ctx context.Context, run toolRun) (session.ToolOutput, error) {
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return session.ToolOutput{}, context.Cause(ctx)
	}
	entry, known := t.tools[run.name]
	switch {
	case !known:
		return session.ToolOutput{}, &session.ToolError{Kind: "not_found", Message: "Unknown tool: " + run.name}
	case t.Registries.State(entry.Registration) == registry.Removed:
		return session.ToolOutput{}, &session.ToolError{Kind: "unavailable", Message: "Stale tool call: " + run.name}
	case !run.valid:
		return session.ToolOutput{}, &session.ToolError{Kind: "invalid_input", Message: "Invalid tool input: the arguments are not JSON"}
	}
	definition := entry.Value.Definition()
	host := &callHost{turn: t, run: run, plugin: asking(entry)}
	if !definition.Permission.ByOperation {
		if err := host.Authorise(ctx, ownPermission(run, definition.Permission)); err != nil {
			return session.ToolOutput{}, err
		}
	}
	output, err := entry.Value.Execute(ctx, session.ToolCall{
		ID: run.call, Message: run.message, Name: definition.Name, Input: run.input,
		Session: t.session, Agent: t.current.Agent, Location: t.current.Location, Timeout: definition.Timeout, Host: host,
	})
	if host.declined.Load() {
		return session.ToolOutput{}, errDeclined
	}
	return output, err
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

// toolError is what the model is told of a call that did not succeed. What a tool
// did not mean for the model goes to the operator only.
func (t *turn) toolError(ctx context.Context, run toolRun, err error) session.ToolError {
	var told *session.ToolError
	var denied *session.DeniedError
	switch {
	case context.Cause(ctx) != nil, errors.Is(err, errDeclined):
		return session.ToolError{Kind: "cancelled", Message: interruptedTool}
	case errors.As(err, &told):
		return *told
	case errors.As(err, &denied):
		return session.ToolError{Kind: "denied", Message: denied.Error()}
	}
	t.Logger.Error("tool failed", "tool", run.name, "session", t.session, "call", run.call, "error", err)
	return session.ToolError{Kind: "failed", Message: "Tool execution failed: " + run.name + " broke; the host's log has the reason"}
}
