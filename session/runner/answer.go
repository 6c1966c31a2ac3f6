package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/session"
)

// MaxPartBytes bounds one part of a model's answer.
const MaxPartBytes = 4 << 20

// answer accumulates a model's answer and holds the provider to the grammar of
// model events. It is used by the goroutine that consumes the stream.
type answer struct {
	turn    *turn
	message string // the assistant's id
	started bool   // StepStarted is recorded or among the facts
	parts   map[string]*answerPart
	paused  map[string]bool // keys of parts that a call completed
	order   []*answerPart
	facts   []session.Payload // complete, not recorded yet

	finished bool
	finish   session.FinishReason
	usage    *session.Usage // nil until the provider tells it
	called   bool           // a local tool was called
	calls    int            // of local tools so far
}

type answerPart struct {
	key      string // in answer.parts
	kind     session.PartKind
	id       string
	name     string
	text     strings.Builder
	metadata json.RawMessage
	ended    bool
	hosted   bool // a call of a tool that the provider runs
	settled  bool // and its result came
}

func newAnswer(t *turn) *answer {
	return &answer{turn: t, message: t.Encoder.IDs.New(session.PrefixMessage), parts: map[string]*answerPart{}, paused: map[string]bool{}}
}

// take handles one event. Complete facts are recorded before the next fragment is
// shown, and a call before its tool starts.
func (a *answer) take(ctx context.Context, event session.ModelEvent) error {
	if a.finished && event.Type != session.EventUsage {
		return protocol("%s after the answer was finished", event.Type)
	}
	switch event.Type {
	case session.EventTextDelta:
		return a.delta(ctx, session.LiveText, event)
	case session.EventTextEnd:
		return a.end(session.LiveText, event)
	case session.EventReasoningDelta:
		return a.delta(ctx, session.LiveReasoning, event)
	case session.EventReasoningEnd:
		return a.end(session.LiveReasoning, event)
	case session.EventToolStart:
		return a.toolStart(ctx, event)
	case session.EventToolDelta:
		return a.delta(ctx, session.LiveToolInput, event)
	case session.EventToolEnd:
		return a.toolEnd(ctx, event)
	case session.EventToolResult:
		return a.toolResult(ctx, event)
	case session.EventUsage:
		usage := clamp(event.Usage)
		a.usage = &usage
		return nil
	case session.EventFinish:
		return a.finishAll(ctx, event)
	}
	return protocol("the event type %q, which does not exist", event.Type)
}

func protocol(format string, args ...any) error {
	return &session.ProviderError{Class: session.ProviderProtocol,
		Message: "The provider's answer breaks the event grammar: " + fmt.Sprintf(format, args...)}
}

// key keeps text and reasoning parts apart from calls of the same id.
func key(kind session.PartKind, id string) string { return string(kind) + "/" + id }

func (a *answer) delta(ctx context.Context, kind session.PartKind, event session.ModelEvent) error {
	part := a.parts[key(kind, event.ID)]
	switch {
	case part == nil && kind == session.LiveToolInput:
		return protocol("arguments of the call %q, which was not started", event.ID)
	case part != nil && event.Name != "" && event.Name != part.name:
		return protocol("arguments of the call %q under the name %q, which was started as %q", event.ID, event.Name, part.name)
	case part == nil:
		var err error
		if part, err = a.open(ctx, kind, event); err != nil {
			return err
		}
	case part.ended:
		return protocol("a fragment of %s %q, which has ended", kind, event.ID)
	}
	if part.text.Len()+len(event.Text) > MaxPartBytes {
		return protocol("%s %q is longer than %d bytes", kind, event.ID, MaxPartBytes)
	}
	part.text.WriteString(event.Text)
	if event.Text != "" {
		a.turn.Live.Append(a.turn.session, a.message, part.id, kind, event.Text)
	}
	return nil
}

// open begins a part. The assistant message exists from its first part on.
func (a *answer) open(ctx context.Context, kind session.PartKind, event session.ModelEvent) (*answerPart, error) {
	if event.ID == "" {
		return nil, protocol("a part without an id")
	}
	a.begin()
	if err := a.flush(ctx); err != nil {
		return nil, err
	}
	part := &answerPart{key: key(kind, event.ID), kind: kind, id: a.unused(kind, event.ID), name: event.Name,
		metadata: event.Metadata, hosted: event.Hosted && kind == session.LiveToolInput}
	a.parts[part.key] = part
	a.order = append(a.order, part)
	return part, nil
}

// unused answers an id that names one text for good: a part that goes on after a
// tool call is another part.
func (a *answer) unused(kind session.PartKind, id string) string {
	again := 0
	for _, part := range a.order {
		if part.kind == kind && (part.id == id || strings.HasPrefix(part.id, id+"~")) {
			again++
		}
	}
	if again == 0 {
		return id
	}
	return fmt.Sprintf("%s~%d", id, again+1)
}

// pause completes the text and reasoning that came before a call, so that the
// transcript keeps the model's order. What follows under the same id is a new part.
func (a *answer) pause() {
	for _, part := range a.order {
		if !part.ended && part.kind != session.LiveToolInput {
			a.complete(part)
			delete(a.parts, part.key)
			a.paused[part.key] = true
		}
	}
}

func (a *answer) begin() {
	if !a.started {
		a.started = true
		a.facts = append(a.facts, session.StepStarted{Message: a.message, Agent: a.turn.agent.Name, Model: a.turn.current.Model, Snapshot: a.turn.filesBefore()})
	}
}

func (a *answer) end(kind session.PartKind, event session.ModelEvent) error {
	part := a.parts[key(kind, event.ID)]
	switch {
	case part == nil && a.paused[key(kind, event.ID)]:
		return nil // it said nothing more since
	case part == nil || part.ended:
		return protocol("the end of %s %q, which is not open", kind, event.ID)
	}
	if event.Metadata != nil {
		part.metadata = event.Metadata
	}
	a.complete(part)
	return nil
}

// complete makes the fact of a text or reasoning part.
func (a *answer) complete(part *answerPart) {
	part.ended = true
	switch part.kind {
	case session.LiveText:
		a.facts = append(a.facts, session.TextEnded{Message: a.message, Part: part.id, Text: part.text.String()})
	case session.LiveReasoning:
		a.facts = append(a.facts, session.ReasoningEnded{Message: a.message, Part: part.id, Text: part.text.String(), Metadata: part.metadata})
	}
}

func (a *answer) toolStart(ctx context.Context, event session.ModelEvent) error {
	if a.parts[key(session.LiveToolInput, event.ID)] != nil {
		return protocol("the call %q is started twice", event.ID)
	}
	if event.Name == "" {
		return protocol("the call %q has no name", event.ID)
	}
	a.pause()
	_, err := a.open(ctx, session.LiveToolInput, event)
	return err
}

// toolEnd records the call, then starts the tool.
func (a *answer) toolEnd(ctx context.Context, event session.ModelEvent) error {
	part := a.parts[key(session.LiveToolInput, event.ID)]
	if part == nil || part.ended {
		return protocol("the end of the call %q, which is not open", event.ID)
	}
	part.ended = true
	if event.Metadata != nil {
		part.metadata = event.Metadata
	}
	input, valid := toolInput(part.text.String())
	called := session.ToolCalled{Message: a.message, Call: part.id, Name: part.name, Input: input, Metadata: part.metadata, Hosted: part.hosted}
	if entry, known := a.turn.tools[part.name]; known && !part.hosted {
		called.Revision = entry.Revision
	}
	a.facts = append(a.facts, called)
	if err := a.flush(ctx); err != nil || part.hosted {
		return err
	}
	a.called = true
	a.calls++
	run := toolRun{message: a.message, call: part.id, name: part.name, input: input, valid: valid, number: a.calls,
		repeats: a.turn.repeats(part.name, input)}
	a.turn.called = append(a.turn.called, run)
	a.turn.start(ctx, run)
	return nil
}

// toolResult settles a call of a tool that the provider ran.
func (a *answer) toolResult(ctx context.Context, event session.ModelEvent) error {
	part := a.parts[key(session.LiveToolInput, event.ID)]
	switch {
	case part == nil || !part.hosted:
		return protocol("a result of the call %q, which the provider does not run", event.ID)
	case part.settled && event.Failed:
		return nil // an error that comes late changes nothing
	case part.settled:
		return protocol("a second result of the call %q", event.ID)
	case !part.ended:
		if err := a.toolEnd(ctx, session.ModelEvent{ID: event.ID}); err != nil {
			return err
		}
	}
	part.settled = true
	if event.Failed {
		a.facts = append(a.facts, session.ToolFailed{Message: a.message, Call: part.id, Metadata: event.Metadata, Result: event.Result,
			Error: session.ToolError{Kind: "failed", Message: cmp.Or(event.Text, "The provider's tool failed")}})
		return nil
	}
	succeeded := session.ToolSucceeded{Message: a.message, Call: part.id, Metadata: event.Metadata, Result: event.Result}
	if event.Text != "" {
		succeeded.Content = []session.ToolContent{{Type: "text", Text: event.Text}}
	}
	a.facts = append(a.facts, succeeded)
	return nil
}

// toolInput makes the stored form of a call's arguments: an object as it was
// written, another value as {"value": …}, and what is no JSON as a string, which
// no tool is run with.
func toolInput(text string) (input json.RawMessage, valid bool) {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return json.RawMessage("{}"), true
	case !json.Valid([]byte(trimmed)):
		quoted, _ := json.Marshal(text) // a string always has a JSON form
		return quoted, false
	case trimmed[0] != '{':
		return json.RawMessage(`{"value":` + trimmed + `}`), true
	}
	return json.RawMessage(trimmed), true
}

// finishAll handles the finish: what is still open is whole now.
func (a *answer) finishAll(ctx context.Context, event session.ModelEvent) error {
	for _, part := range a.order {
		switch {
		case part.ended:
		case part.kind == session.LiveToolInput:
			if err := a.toolEnd(ctx, session.ModelEvent{ID: part.id}); err != nil {
				return err
			}
		default:
			a.complete(part)
		}
	}
	a.finished = true
	a.finish = event.Reason
	if event.Reason == session.FinishStop && a.called {
		a.finish = session.FinishToolCalls
	}
	return nil
}

// flush records the complete facts.
func (a *answer) flush(ctx context.Context) error {
	if len(a.facts) == 0 {
		return nil
	}
	facts := a.facts
	a.facts = nil
	if err := a.turn.record(ctx, facts...); err != nil {
		return err
	}
	for _, part := range a.order {
		if part.ended {
			a.turn.Live.End(a.turn.session, a.message, part.id, part.kind)
		}
	}
	return nil
}

// close answers the facts that are left, with every open fragment ended as far as it
// came. A call whose arguments did not arrive whole was never made, and one that the
// provider runs and did not settle has no result.
func (a *answer) close() []session.Payload {
	for _, part := range a.order {
		switch {
		case !part.ended && part.kind == session.LiveToolInput:
			part.ended = true
			a.facts = append(a.facts, session.ToolInputEnded{Message: a.message, Call: part.id, Name: part.name, Text: part.text.String()},
				session.ToolFailed{Message: a.message, Call: part.id, Error: session.ToolError{Kind: "cancelled", Message: interruptedTool}})
		case !part.ended:
			a.complete(part)
		case part.hosted && !part.settled:
			part.settled = true
			a.facts = append(a.facts, session.ToolFailed{Message: a.message, Call: part.id,
				Error: session.ToolError{Kind: "failed", Message: "Provider did not return a tool result"}})
		}
	}
	facts := a.facts
	a.facts = nil
	return facts
}

// empty reports an answer that has nothing in it and told of no use: what was used is
// counted with its message.
func (a *answer) empty() bool { return !a.started && len(a.order) == 0 && a.usage == nil }

func (a *answer) endLive() {
	for _, part := range a.order {
		a.turn.Live.End(a.turn.session, a.message, part.id, part.kind)
	}
}

func clamp(usage session.Usage) session.Usage {
	return session.Usage{Input: max(usage.Input, 0), Output: max(usage.Output, 0), Reasoning: max(usage.Reasoning, 0),
		CacheRead: max(usage.CacheRead, 0), CacheWrite: max(usage.CacheWrite, 0)}
}
