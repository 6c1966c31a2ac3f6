// Package offline is a provider without a model. It answers by fixed rules and
// never leaves the machine, so that Plinth can be tried, shown and tested without
// an account. It says of itself that it is no model.
package offline

import (
	"context"
	"fmt"
	"iter"
	"regexp"

	"github.com/plinthhost/plinth/session"
)

// Name is the provider's name and Model the one model it has: "offline/rules".
const (
	Name  = "offline"
	Model = "rules"
)

// Provider is the offline provider. The same request always gets the same answer.
type Provider struct{}

var _ session.Provider = Provider{}

// words cuts a text into pieces that give the text when joined.
var words = regexp.MustCompile(`\S+\s*|\s+`)

// part is the id of the one text part of an answer.
const part = "text-0"

// reply is an answer before it is streamed: a text or a tool call.
type reply struct {
	text string
	call *call
}

// call is a tool call to be made.
type call struct{ id, name, input string }

// Stream answers request word by word. An unknown model is a
// *session.ProviderError of class invalid_request.
func (Provider) Stream(ctx context.Context, request session.ModelRequest) iter.Seq2[session.ModelEvent, error] {
	return func(yield func(session.ModelEvent, error) bool) {
		if request.Model.Model != Model {
			yield(session.ModelEvent{}, &session.ProviderError{
				Class:   session.ProviderInvalidRequest,
				Message: fmt.Sprintf("the provider %q has no model %q; its only one is %q", Name, request.Model.Model, Model),
			})
			return
		}
		for event := range events(request, answer(request)) {
			if ctx.Err() != nil {
				yield(session.ModelEvent{}, fmt.Errorf("stream the offline answer: %w", context.Cause(ctx)))
				return
			}
			if !yield(event, nil) {
				return
			}
		}
	}
}

// events writes an answer as a model would stream it.
func events(request session.ModelRequest, answer reply) iter.Seq[session.ModelEvent] {
	return func(yield func(session.ModelEvent) bool) {
		written, reason := answer.text, session.FinishStop
		if c := answer.call; c != nil {
			written, reason = c.name+c.input, session.FinishToolCalls
			if !yield(session.ModelEvent{Type: session.EventToolStart, ID: c.id, Name: c.name}) ||
				!yield(session.ModelEvent{Type: session.EventToolDelta, ID: c.id, Text: c.input}) ||
				!yield(session.ModelEvent{Type: session.EventToolEnd, ID: c.id}) {
				return
			}
		}
		for _, word := range words.FindAllString(answer.text, -1) {
			if !yield(session.ModelEvent{Type: session.EventTextDelta, ID: part, Text: word}) {
				return
			}
		}
		if answer.text != "" && !yield(session.ModelEvent{Type: session.EventTextEnd, ID: part}) {
			return
		}
		if !yield(session.ModelEvent{Type: session.EventUsage, Usage: usage(request, written)}) {
			return
		}
		yield(session.ModelEvent{Type: session.EventFinish, Reason: reason})
	}
}

// usage estimates four characters a token.
func usage(request session.ModelRequest, written string) session.Usage {
	var read int
	for _, system := range request.System {
		read += len(system.Text)
	}
	for _, message := range request.Messages {
		for _, part := range message.Parts {
			read += len(part.Text) + len(part.Input)
		}
	}
	return session.Usage{Input: tokens(read), Output: tokens(len(written))}
}

func tokens(bytes int) int64 { return int64((bytes + 3) / 4) }
