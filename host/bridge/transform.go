package bridge

import (
	"cmp"
	"context"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
)

// TransformDeadline is how long a transform may run that does not say, and
// MaxTransformDeadline what one may say: each request waits for it.
const (
	TransformDeadline    = 50 * time.Millisecond
	MaxTransformDeadline = time.Second
)

// Transform is a guest's transform behind the kernel's port.
type Transform struct {
	plugin *Plugin
	spec   session.TransformSpec
}

// NewTransform makes the transform of the plugin that the manifest declares.
func NewTransform(plugin *Plugin, spec session.TransformSpec) *Transform {
	return &Transform{plugin: plugin, spec: spec}
}

// Spec is what the manifest declares.
func (t *Transform) Spec() session.TransformSpec { return t.spec }

// Apply asks the guest for its edits. A transform has no operations.
func (t *Transform) Apply(ctx context.Context, input session.TransformInput) ([]session.Edit, error) {
	body := abi.TransformApply{
		Transform: t.spec.Name, Purpose: input.Purpose, Agent: input.Agent, Options: input.Options, Headers: input.Headers,
		System: wireTexts(input.System), Messages: wireMessages(input.Messages), Tools: wireTools(input.Tools),
	}
	for _, part := range t.spec.Reads {
		if part == session.RequestGeneration {
			generation := wireGeneration(input.Generation)
			body.Generation = &generation
		}
	}
	deadline := cmp.Or(t.spec.Timeout, TransformDeadline)
	answered, _, err := invoke[abi.TransformApply, abi.TransformEdits](ctx, t.plugin, abi.ExportTransform, body, Call{Deadline: deadline, Session: input.Session})
	if err != nil {
		return nil, err
	}
	edits := make([]session.Edit, len(answered.Edits))
	for i, edit := range answered.Edits {
		edits[i] = session.Edit{Part: session.RequestPart(edit.Part), Op: session.EditOp(edit.Op), ID: edit.ID, Value: edit.Value}
	}
	return edits, nil
}
