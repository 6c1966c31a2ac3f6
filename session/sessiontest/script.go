package sessiontest

import (
	"context"
	"iter"
	"sync"

	"github.com/plinthhost/plinth/session"
)

// Turn is one scripted answer. It yields events; a false answer ends it.
type Turn func(ctx context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool)

// Provider answers the n-th request with the n-th turn, and the ones after the
// last with an error.
type Provider struct {
	mu       sync.Mutex
	turns    []Turn
	requests []session.ModelRequest
}

// Script appends turns.
func (p *Provider) Script(turns ...Turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns = append(p.turns, turns...)
}

// Requests answers what was asked so far.
func (p *Provider) Requests() []session.ModelRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]session.ModelRequest(nil), p.requests...)
}

// Stream plays the next turn.
func (p *Provider) Stream(ctx context.Context, request session.ModelRequest) iter.Seq2[session.ModelEvent, error] {
	p.mu.Lock()
	var turn Turn
	if n := len(p.requests); n < len(p.turns) {
		turn = p.turns[n]
	}
	p.requests = append(p.requests, request)
	p.mu.Unlock()
	return func(yield func(session.ModelEvent, error) bool) {
		if turn == nil {
			yield(session.ModelEvent{}, &session.ProviderError{Class: session.ProviderUnknown, Message: "the script has no turn for this request"})
			return
		}
		turn(ctx, request, yield)
	}
}

// Events is a turn that yields the events.
func Events(events ...session.ModelEvent) Turn {
	return func(_ context.Context, _ session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		for _, event := range events {
			if !yield(event, nil) {
				return
			}
		}
	}
}

// Then plays first, then second.
func Then(first, second Turn) Turn {
	return func(ctx context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		more := true
		first(ctx, request, func(event session.ModelEvent, err error) bool {
			more = yield(event, err)
			return more
		})
		if more {
			second(ctx, request, yield)
		}
	}
}

// Fail is a turn that breaks off with the error.
func Fail(err error) Turn {
	return func(_ context.Context, _ session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		yield(session.ModelEvent{}, err)
	}
}

// Gate is a turn that says it was reached and waits until it is opened or the
// request ends.
func Gate(reached chan<- struct{}, open <-chan struct{}) Turn {
	return func(ctx context.Context, _ session.ModelRequest, _ func(session.ModelEvent, error) bool) {
		reached <- struct{}{}
		select {
		case <-open:
		case <-ctx.Done():
		}
	}
}

// Say is a turn that answers the text, in two fragments, and stops.
func Say(text string) Turn {
	half := len(text) / 2
	return Events(Delta(text[:half]), Delta(text[half:]), Usage(10, 2), Finish(session.FinishStop))
}

// Delta is a fragment of text-0.
func Delta(text string) session.ModelEvent {
	return session.ModelEvent{Type: session.EventTextDelta, ID: "text-0", Text: text}
}

// Usage is the usage of an answer.
func Usage(input, output int64) session.ModelEvent {
	return session.ModelEvent{Type: session.EventUsage, Usage: session.Usage{Input: input, Output: output}}
}

// Finish ends an answer.
func Finish(reason session.FinishReason) session.ModelEvent {
	return session.ModelEvent{Type: session.EventFinish, Reason: reason}
}

// Calls is a turn that calls a tool once per input, ids call-0 and so on.
func Calls(tool string, inputs ...string) Turn {
	var events []session.ModelEvent
	for i, input := range inputs {
		id := "call-" + string(rune('0'+i))
		half := len(input) / 2
		events = append(events,
			session.ModelEvent{Type: session.EventToolStart, ID: id, Name: tool},
			session.ModelEvent{Type: session.EventToolDelta, ID: id, Text: input[:half]},
			session.ModelEvent{Type: session.EventToolDelta, ID: id, Text: input[half:]},
			session.ModelEvent{Type: session.EventToolEnd, ID: id})
	}
	return Events(append(events, Finish(session.FinishToolCalls))...)
}

// Tool is a tool of a function.
type Tool struct {
	Define session.ToolDefinition
	Run    func(ctx context.Context, call session.ToolCall) (session.ToolOutput, error)
}

// Definition answers Define.
func (t Tool) Definition() session.ToolDefinition { return t.Define }

// Execute calls Run.
func (t Tool) Execute(ctx context.Context, call session.ToolCall) (session.ToolOutput, error) {
	return t.Run(ctx, call)
}

// Output is a tool's output of one text.
func Output(text string) session.ToolOutput {
	return session.ToolOutput{Content: []session.ToolContent{{Type: "text", Text: text}}}
}

// Source is a context source of a function.
type Source struct {
	Names []string
	Run   func(ctx context.Context, observation session.Observation) ([]session.SourceState, error)
}

// Keys answers Names.
func (s Source) Keys() []string { return s.Names }

// Observe calls Run.
func (s Source) Observe(ctx context.Context, observation session.Observation) ([]session.SourceState, error) {
	return s.Run(ctx, observation)
}
