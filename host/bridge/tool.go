package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/schema"
)

// DefaultToolTimeout is how long a tool may run when its manifest does not say.
const DefaultToolTimeout = 10 * time.Second

// Tool is a tool of a guest behind the kernel's port.
type Tool struct {
	plugin     *Plugin
	name       string // in the manifest
	definition session.ToolDefinition
	reach      *Reach
}

// NewTool makes a tool of the plugin. Schemas that cannot be compiled are refused
// here; the kernel holds each call's input and output to them. Reach is what the
// tool's operations get at.
func NewTool(plugin *Plugin, definition session.ToolDefinition, reach *Reach) (*Tool, error) {
	if _, err := schema.Compile(definition.Input); err != nil {
		return nil, fmt.Errorf("tool %s: the schema of its input: %w", definition.Name, err)
	}
	if definition.Output != nil {
		if _, err := schema.Compile(definition.Output); err != nil {
			return nil, fmt.Errorf("tool %s: the schema of its output: %w", definition.Name, err)
		}
	}
	return &Tool{plugin: plugin, name: definition.Name, definition: definition, reach: reach}, nil
}

// Definition is what the manifest says of the tool.
func (t *Tool) Definition() session.ToolDefinition { return t.definition }

// Execute runs the call in the guest. What the guest says of a failure reaches the
// model; a fault of the guest does so only by its kind.
func (t *Tool) Execute(ctx context.Context, call session.ToolCall) (session.ToolOutput, error) {
	timeout := call.Timeout
	if timeout <= 0 {
		timeout = DefaultToolTimeout
	}
	host := &operations{
		plugin: t.plugin, reach: t.reach, session: abi.Session{ID: call.Session, Agent: call.Agent}, location: call.Location,
		asked: &toolAuthority{host: call.Host}, progress: call.Host.Progress, host: call.Host,
	}
	output, raw, err := invoke[abi.ToolExecute, abi.ToolOutput](ctx, t.plugin, abi.ExportTool, abi.ToolExecute{
		Tool: t.name, Input: call.Input,
		Call:     abi.ToolCall{ID: call.ID, Message: call.Message},
		Session:  host.session,
		Location: wireLocation(call.Location, t.reach.Clock.Now()),
	}, Call{Deadline: timeout, Session: call.Session, Operations: host})
	if err != nil {
		return session.ToolOutput{}, t.failure(err, timeout)
	}
	return t.output(ctx, host, output, raw)
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
	if fault.Kind == abi.KindTimeout {
		t.plugin.Log("error", fmt.Sprintf("tool %s: %v; let it end sooner, or raise timeout_ms of its [[tool]]", t.name, fault.Err))
		return toolError(fault.Kind, "The tool %s did not answer within %s", t.name, timeout)
	}
	t.plugin.Log("error", fmt.Sprintf("tool %s: %v", t.name, fault.Err))
	return toolError(fault.Kind, "The tool %s broke and gave no answer (%s); the host's log has the reason", t.name, fault.Kind)
}

// output keeps the files of the guest's answer.
func (t *Tool) output(ctx context.Context, host *operations, output abi.ToolOutput, raw []byte) (session.ToolOutput, error) {
	result := session.ToolOutput{Structured: output.Structured, Title: output.Title, Metadata: output.Metadata}
	for i, part := range output.Content {
		content, err := host.toolContent(ctx, part, raw)
		if err != nil {
			return session.ToolOutput{}, toolError(abi.KindFailed, "The tool %s gave an answer that cannot be read: content %d: %v", t.name, i, err)
		}
		result.Content = append(result.Content, content)
	}
	return result, nil
}

func toolError(kind abi.Kind, format string, args ...any) *session.ToolError {
	return &session.ToolError{Kind: string(kind), Message: fmt.Sprintf(format, args...)}
}
