package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/session"
)

// DefaultToolTimeout is how long a tool may run when its manifest does not say.
const DefaultToolTimeout = 10 * time.Second

// Tool is a tool of a guest behind the kernel's port.
type Tool struct {
	plugin     *Plugin
	name       string // in the manifest
	definition session.ToolDefinition
	input      *Schema
	answer     *Schema // of the structured output; nil: anything
	files      *Files
	clock      session.Clock
}

// NewTool makes a tool of the plugin and compiles its schemas. Files are what its
// file operations reach.
func NewTool(plugin *Plugin, definition session.ToolDefinition, files *Files, clock session.Clock) (*Tool, error) {
	t := &Tool{plugin: plugin, name: definition.Name, definition: definition, files: files, clock: clock}
	var err error
	if t.input, err = CompileSchema(definition.Input); err != nil {
		return nil, fmt.Errorf("tool %s: the schema of its input: %w", t.name, err)
	}
	if definition.Output == nil {
		return t, nil
	}
	if t.answer, err = CompileSchema(definition.Output); err != nil {
		return nil, fmt.Errorf("tool %s: the schema of its output: %w", t.name, err)
	}
	return t, nil
}

// Definition is what the manifest says of the tool.
func (t *Tool) Definition() session.ToolDefinition { return t.definition }

// Execute runs the call in the guest once its input fits the schema. What the guest
// says of a failure reaches the model; a fault of the guest does so only by its
// kind.
func (t *Tool) Execute(ctx context.Context, call session.ToolCall) (session.ToolOutput, error) {
	if err := t.input.Check(call.Input); err != nil {
		return session.ToolOutput{}, toolError(abi.KindInvalidInput, "Invalid input for the tool %s: %v", t.name, err)
	}
	timeout := call.Timeout
	if timeout <= 0 {
		timeout = DefaultToolTimeout
	}
	host := &operations{
		files: t.files, location: call.Location, asked: toolAuthority{call.Host}, log: t.plugin.Log, progress: call.Host.Progress,
	}
	output, raw, err := invoke[abi.ToolExecute, abi.ToolOutput](ctx, t.plugin, abi.ExportTool, abi.ToolExecute{
		Tool: t.name, Input: call.Input,
		Call:     abi.ToolCall{ID: call.ID, Message: call.Message},
		Session:  abi.Session{ID: call.Session, Agent: call.Agent},
		Location: wireLocation(call.Location, t.clock.Now()),
	}, Call{Deadline: timeout, Session: call.Session, Operations: host})
	if err != nil {
		return session.ToolOutput{}, t.failure(err, timeout)
	}
	return t.output(output, raw)
}

func (t *Tool) failure(err error, timeout time.Duration) error {
	if told, ok := errors.AsType[*abi.Error](err); ok {
		return &session.ToolError{Kind: string(told.Kind), Message: told.Message}
	}
	var fault *CallError
	if !errors.As(err, &fault) {
		return err
	}
	if fault.Kind == abi.KindCancelled {
		return fault
	}
	t.plugin.Log("error", fmt.Sprintf("tool %s: %v", t.name, fault.Err))
	if fault.Kind == abi.KindTimeout {
		return toolError(fault.Kind, "The tool %s did not answer within %s", t.name, timeout)
	}
	return toolError(fault.Kind, "The tool %s broke and gave no answer (%s); the host's log has the reason", t.name, fault.Kind)
}

// output holds the guest's answer to the contract. Files need blobs, which this
// version does not pass on.
func (t *Tool) output(output abi.ToolOutput, raw []byte) (session.ToolOutput, error) {
	result := session.ToolOutput{Structured: output.Structured, Title: output.Title, Metadata: output.Metadata}
	for i, content := range output.Content {
		if content.Data != nil {
			if _, err := content.Data.Of(raw); err != nil {
				return session.ToolOutput{}, toolError(abi.KindFailed, "The tool %s gave an answer that cannot be read: content %d: %v", t.name, i, err)
			}
		}
		if content.Type != "text" {
			return session.ToolOutput{}, toolError(abi.KindFailed,
				"The tool %s answered content of the type %q; this version passes on text only", t.name, clip(content.Type))
		}
		result.Content = append(result.Content, session.ToolContent{Type: "text", Text: content.Text})
	}
	if t.answer == nil {
		return result, nil
	}
	if output.Structured == nil {
		return session.ToolOutput{}, toolError(abi.KindFailed, "The tool %s answered no structured output, which its manifest promises", t.name)
	}
	if err := t.answer.Check(output.Structured); err != nil {
		return session.ToolOutput{}, toolError(abi.KindFailed, "The structured output of the tool %s does not fit its schema: %v", t.name, err)
	}
	return result, nil
}

func toolError(kind abi.Kind, format string, args ...any) *session.ToolError {
	return &session.ToolError{Kind: string(kind), Message: fmt.Sprintf(format, args...)}
}

// toolAuthority asks through the call: the rules decide, and where they say so a
// person, for whom the guest makes room.
type toolAuthority struct{ host session.ToolHost }

func (a toolAuthority) authorise(ctx context.Context, action, resource string) error {
	request := session.PermissionRequest{Action: action, Resources: []string{resource}, Save: session.Savable(resource)}
	effects, err := a.host.Effects(ctx, action, request.Resources)
	if err != nil {
		return err
	}
	if effects[0] != session.Ask {
		return a.host.Authorise(ctx, request)
	}
	return wasm.Wait(ctx, func(ctx context.Context) error { return a.host.Authorise(ctx, request) })
}

func (a toolAuthority) effects(ctx context.Context, action string, resources []string) ([]session.Effect, error) {
	return a.host.Effects(ctx, action, resources)
}
