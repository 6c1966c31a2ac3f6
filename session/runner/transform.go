package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// requestPhase is what is edited for every request; the system text is edited once,
// when an epoch begins, and sent as it was stored from then on.
var requestPhase = [...]session.RequestPart{session.RequestMessages, session.RequestTools, session.RequestGeneration,
	session.RequestOptions, session.RequestHeaders}

// transformSystem runs the transforms that write the system text over a new
// baseline.
func (t *turn) transformSystem(ctx context.Context, parts []session.TextPart) ([]session.TextPart, error) {
	request := session.ModelRequest{Purpose: session.PurposeTurn, Session: t.session, Agent: t.agent.Name, System: parts, Tools: t.definitions}
	err := t.transform(ctx, &request, session.RequestSystem)
	return request.System, err
}

// transformRequest runs the transforms that write anything else.
func (t *turn) transformRequest(ctx context.Context) error {
	return t.transform(ctx, &t.request, requestPhase[:]...)
}

// transform applies, in order, every transform that writes one of the parts. One
// that fails leaves the request as it was: skipped, or a Failure if it says so.
func (t *turn) transform(ctx context.Context, request *session.ModelRequest, phase ...session.RequestPart) error {
	for _, entry := range registry.All(t.pin, t.Kinds.Transforms) {
		spec := entry.Value.Spec()
		if !slices.ContainsFunc(spec.Writes, func(part session.RequestPart) bool { return slices.Contains(phase, part) }) {
			continue
		}
		edited, err := applyTransform(ctx, entry.Value, spec, *request, phase)
		switch {
		case err == nil:
			*request = edited
		case context.Cause(ctx) != nil:
			return context.Cause(ctx)
		case spec.OnError == "skip":
			t.Logger.Warn("transform skipped", "transform", entry.Name, "session", t.session, "error", err)
		default:
			return &session.Failure{Code: session.FailureTransform, Message: fmt.Sprintf(
				"The transform %s failed: %v; remove it or set its on_error to skip", entry.Name, err)}
		}
	}
	return nil
}

func applyTransform(ctx context.Context, transform session.Transform, spec session.TransformSpec, request session.ModelRequest,
	phase []session.RequestPart) (session.ModelRequest, error) {
	edits, err := transform.Apply(ctx, visible(spec, request))
	if err != nil {
		return request, err
	}
	e := editor{request: detached(request)}
	for i, edit := range edits {
		if !slices.Contains(spec.Writes, edit.Part) {
			return request, fmt.Errorf("edit %d writes %q, which it does not declare to write", i, edit.Part)
		}
		if !slices.Contains(phase, edit.Part) {
			continue
		}
		if err := e.apply(edit); err != nil {
			return request, fmt.Errorf("edit %d: %s of %s %q: %w", i, edit.Op, edit.Part, edit.ID, err)
		}
	}
	return e.request, nil
}

// visible leaves only what a transform declared to read.
func visible(spec session.TransformSpec, request session.ModelRequest) session.TransformInput {
	input := session.TransformInput{Purpose: request.Purpose, Agent: request.Agent, Session: request.Session}
	for _, part := range spec.Reads {
		switch part {
		case session.RequestSystem:
			input.System = request.System
		case session.RequestMessages:
			input.Messages = request.Messages
		case session.RequestTools:
			input.Tools = request.Tools
		case session.RequestGeneration:
			input.Generation = request.Generation
		case session.RequestOptions:
			input.Options = request.Options
		case session.RequestHeaders:
			input.Headers = request.Headers
		}
	}
	return input
}

// detached copies what edits change in place.
func detached(request session.ModelRequest) session.ModelRequest {
	request.System = slices.Clone(request.System)
	request.Tools = slices.Clone(request.Tools)
	request.Messages = slices.Clone(request.Messages)
	for i := range request.Messages {
		request.Messages[i].Parts = slices.Clone(request.Messages[i].Parts)
	}
	request.Options = maps.Clone(request.Options)
	request.Headers = maps.Clone(request.Headers)
	return request
}

// editor applies edits to a request of its own.
type editor struct{ request session.ModelRequest }

var errOperation = fmt.Errorf("this part has no such operation")

func (e *editor) apply(edit session.Edit) error {
	switch edit.Part {
	case session.RequestSystem:
		return e.system(edit)
	case session.RequestMessages:
		return e.message(edit)
	case session.RequestTools:
		return e.tool(edit)
	case session.RequestGeneration:
		return e.generation(edit)
	case session.RequestOptions:
		return setField(&e.request.Options, edit, func(value json.RawMessage) (json.RawMessage, error) { return value, nil })
	case session.RequestHeaders:
		return setField(&e.request.Headers, edit, text)
	}
	return fmt.Errorf("there is no such part")
}

func (e *editor) system(edit session.Edit) error {
	at := slices.IndexFunc(e.request.System, func(part session.TextPart) bool { return part.ID == edit.ID })
	switch edit.Op {
	case session.EditAppend:
		if at >= 0 {
			return fmt.Errorf("a part of that id exists")
		}
		value, err := text(edit.Value)
		if err != nil {
			return err
		}
		e.request.System = append(e.request.System, session.TextPart{ID: edit.ID, Text: value})
	case session.EditReplace:
		value, err := text(edit.Value)
		if err != nil || at < 0 {
			return orMissing(err)
		}
		e.request.System[at].Text = value
	case session.EditDrop:
		if at < 0 {
			return orMissing(nil)
		}
		e.request.System = slices.Delete(e.request.System, at, at+1)
	default:
		return errOperation
	}
	return nil
}

// message replaces the text of one part, named by the part's id. What a provider
// signed is read-only.
func (e *editor) message(edit session.Edit) error {
	if edit.Op != session.EditReplace {
		return errOperation
	}
	value, err := text(edit.Value)
	if err != nil {
		return err
	}
	for i := range e.request.Messages {
		for j := range e.request.Messages[i].Parts {
			part := &e.request.Messages[i].Parts[j]
			if part.ID != edit.ID {
				continue
			}
			if part.Hosted || len(part.Metadata) > 0 || part.Type == session.PartReasoning || part.Type == session.PartToolCall {
				return fmt.Errorf("the provider made this part, so it is read-only")
			}
			part.Text = value
			return nil
		}
	}
	return orMissing(nil)
}

// tool drops a tool, or replaces its description.
func (e *editor) tool(edit session.Edit) error {
	at := slices.IndexFunc(e.request.Tools, func(tool session.ToolDefinition) bool { return tool.Name == edit.ID })
	if at < 0 {
		return orMissing(nil)
	}
	switch edit.Op {
	case session.EditDrop:
		e.request.Tools = slices.Delete(e.request.Tools, at, at+1)
	case session.EditReplace:
		value, err := text(edit.Value)
		if err != nil {
			return err
		}
		e.request.Tools[at].Description = value
	default:
		return errOperation
	}
	return nil
}

func (e *editor) generation(edit session.Edit) error {
	if edit.Op != session.EditSet {
		return errOperation
	}
	g := &e.request.Generation
	switch edit.ID {
	case "max_tokens":
		return json.Unmarshal(edit.Value, &g.MaxTokens)
	case "temperature":
		return json.Unmarshal(edit.Value, &g.Temperature)
	case "top_p":
		return json.Unmarshal(edit.Value, &g.TopP)
	case "seed":
		return json.Unmarshal(edit.Value, &g.Seed)
	case "stop":
		return json.Unmarshal(edit.Value, &g.Stop)
	}
	return fmt.Errorf("there is no such control; there are max_tokens, temperature, top_p, seed and stop")
}

// setField sets a field of a map, or drops it.
func setField[V any](fields *map[string]V, edit session.Edit, decode func(json.RawMessage) (V, error)) error {
	switch edit.Op {
	case session.EditSet:
		value, err := decode(edit.Value)
		if err != nil {
			return err
		}
		if *fields == nil {
			*fields = map[string]V{}
		}
		(*fields)[edit.ID] = value
	case session.EditDrop:
		delete(*fields, edit.ID)
	default:
		return errOperation
	}
	return nil
}

func text(value json.RawMessage) (string, error) {
	var decoded string
	if err := json.Unmarshal(value, &decoded); err != nil {
		return "", fmt.Errorf("the value must be a JSON string")
	}
	return strings.ToValidUTF8(decoded, "�"), nil
}

func orMissing(err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("there is none of that id")
}
