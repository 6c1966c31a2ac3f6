package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/schema"
)

// toolRun is one recorded call.
type toolRun struct {
	message string
	call    string
	name    string
	input   json.RawMessage
	valid   bool // the arguments are JSON
	number  int  // among the turn's calls, from 1
	repeats int  // calls of the same tool with the same input just before it
	// earlier is what the call asked in a process that is gone; nil for a call's first
	// life. revision is of the tool that it was offered then.
	earlier  *session.Answers
	revision string
}

// interruptedTool is what the model is told of a call whose outcome is unknown or
// that was stopped, before what the tool itself said of it.
const interruptedTool = "Tool execution interrupted"

// errHeld is a call that waits for a person while the host shuts down: it is left
// unsettled, for the next host to run from its start.
var errHeld = errors.New("the call waits for a person")

// start runs the tool beside the stream. Its settlement is recorded whatever
// becomes of ctx, and before the turn ends.
func (t *turn) start(ctx context.Context, run toolRun) {
	t.calls.Go(func() {
		read := &reading{root: t.current.Location.Root}
		output, err := t.execute(ctx, run, read)
		t.Live.End(t.session, run.message, run.call, session.LiveToolProgress)
		if errors.Is(err, errHeld) {
			t.mu.Lock()
			t.held = true
			t.mu.Unlock()
			return
		}
		facts := append(t.directoriesRead(read), t.settlement(ctx, run, output, err))
		if t.record(ctx, facts...) == nil && errors.Is(err, errDeclined) {
			t.cancel(errDeclined)
		}
	})
}

// settlement is the one event that closes a call.
func (t *turn) settlement(ctx context.Context, run toolRun, output session.ToolOutput, err error) session.Payload {
	revision := t.tools[run.name].Revision
	if err != nil {
		return session.ToolFailed{Message: run.message, Call: run.call, Error: t.toolError(ctx, run, err), Revision: revision}
	}
	bounded, kept := session.Bound(ctx, t.Outputs, t.session, t.config.Output, output)
	succeeded := session.ToolSucceeded{Message: run.message, Call: run.call, Content: bounded.Content, Structured: bounded.Structured,
		Title: bounded.Title, Metadata: bounded.Metadata, Revision: revision}
	if kept != nil {
		if kept.Path != "" {
			succeeded.Outputs = []string{kept.Path}
		}
		if kept.Lossy {
			succeeded.Diagnostic = kept.Diagnostic
			t.Logger.Warn("a tool's output could not be kept whole", "tool", run.name, "session", t.session, "call", run.call, "error", kept.Diagnostic)
		}
	}
	return succeeded
}

// execute takes a call through the pipeline: known, current, decoded, authorised,
// invoked, validated.
func (t *turn) execute(ctx context.Context, run toolRun, read *reading) (session.ToolOutput, error) {
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return session.ToolOutput{}, context.Cause(ctx)
	}
	if t.format != nil && run.name == formatTool {
		return t.takeFormat(run)
	}
	entry, err := t.admit(run)
	if err != nil {
		return session.ToolOutput{}, err
	}
	definition := entry.Value.Definition()
	definition.Name = entry.Name
	if err := t.decode(definition, run); err != nil {
		return session.ToolOutput{}, err
	}
	host := &callHost{reading: read, turn: t, run: run, plugin: asking(entry)}
	if err := host.authorise(ctx, definition); err != nil {
		return session.ToolOutput{}, err
	}
	output, err := t.invoke(ctx, entry, definition, run, host)
	switch {
	case host.held.Load():
		return session.ToolOutput{}, errHeld
	case host.declined.Load():
		return session.ToolOutput{}, errDeclined
	case err != nil:
		return session.ToolOutput{}, err
	}
	return output, t.validate(definition, output)
}

// admit answers the tool that a call is for. A call belongs to the registration it
// was offered with.
func (t *turn) admit(run toolRun) (toolEntry, error) {
	entry, known := t.tools[run.name]
	switch {
	case t.last:
		return entry, &session.ToolError{Kind: "limit", Message: "Tools are disabled after the agent's last step"}
	case run.number > t.config.MaxCalls:
		return entry, &session.ToolError{Kind: "limit", Message: fmt.Sprintf(
			"One answer may call %d tools and this is call %d of it; call the rest in the next", t.config.MaxCalls, run.number)}
	case !known:
		return entry, &session.ToolError{Kind: "not_found", Message: "Unknown tool: " + run.name}
	case t.Registries.State(entry.Registration) == registry.Removed, run.earlier != nil && run.revision != entry.Revision:
		return entry, &session.ToolError{Kind: "unavailable", Message: "Stale tool call: " + run.name}
	}
	return entry, nil
}

// decode holds the input to the tool's schema; the tool does not run on another.
func (t *turn) decode(definition session.ToolDefinition, run toolRun) error {
	invalid := func(detail string) error {
		return &session.ToolError{Kind: "invalid_input", Message: "Invalid tool input: " + detail}
	}
	if !run.valid {
		return invalid("the arguments are not JSON")
	}
	if len(definition.Input) == 0 {
		return nil
	}
	err := t.Schemas.Check(definition.Input, run.input)
	if mismatch, ok := errors.AsType[*schema.MismatchError](err); ok {
		return invalid(mismatch.Error())
	}
	return err
}

// invoke runs the tool. What it does beyond failing is its own fault and stays its own.
func (t *turn) invoke(ctx context.Context, entry toolEntry, definition session.ToolDefinition, run toolRun, host *callHost) (output session.ToolOutput, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("panic: %v", broken)
		}
	}()
	return entry.Value.Execute(ctx, session.ToolCall{
		ID: run.call, Message: run.message, Name: definition.Name, Input: run.input,
		Session: t.session, Agent: t.agent.Name, Location: t.current.Location, Timeout: definition.Timeout, Host: host,
	})
}

// validate holds the structured output to the tool's schema.
func (t *turn) validate(definition session.ToolDefinition, output session.ToolOutput) error {
	if len(definition.Output) == 0 {
		return nil
	}
	if output.Structured == nil {
		return &session.ToolError{Kind: "failed", Message: "Tool returned no structured output, which its output schema promises"}
	}
	err := t.Schemas.Check(definition.Output, output.Structured)
	if mismatch, ok := errors.AsType[*schema.MismatchError](err); ok {
		return &session.ToolError{Kind: "failed", Message: "Tool returned an invalid value for its output schema: " + mismatch.Error()}
	}
	return err
}

// toolError is what the model is told of a call that did not succeed. What a tool
// did not mean for the model goes to the operator only. A tool that was interrupted
// may have said how far it came.
func (t *turn) toolError(ctx context.Context, run toolRun, err error) session.ToolError {
	var told *session.ToolError
	var denied *session.DeniedError
	means := errors.As(err, &told)
	switch {
	case context.Cause(ctx) != nil && means && told.Message != "":
		return session.ToolError{Kind: "cancelled", Message: interruptedTool + "; it ended with: " + told.Message}
	case context.Cause(ctx) != nil, errors.Is(err, errDeclined):
		return session.ToolError{Kind: "cancelled", Message: interruptedTool}
	case means:
		return *told
	case errors.As(err, &denied):
		return session.ToolError{Kind: "denied", Message: denied.Error()}
	}
	t.Logger.Error("tool failed", "tool", run.name, "session", t.session, "call", run.call, "error", err)
	return session.ToolError{Kind: "failed", Message: "Tool execution failed: " + run.name + " broke; the host's log has the reason"}
}
