package main

import (
	"context"
	"iter"

	"github.com/plinthhost/plinth/session"
)

// say is a provider that answers at once, always the same.
type say string

// Stream yields the answer in two fragments.
func (s say) Stream(context.Context, session.ModelRequest) iter.Seq2[session.ModelEvent, error] {
	return func(yield func(session.ModelEvent, error) bool) {
		half := len(s) / 2
		for _, event := range []session.ModelEvent{fragment(string(s[:half])), fragment(string(s[half:])),
			{Type: session.EventUsage, Usage: session.Usage{Input: 1000, Output: 20}}, finish()} {
			if !yield(event, nil) {
				return
			}
		}
	}
}

func fragment(text string) session.ModelEvent {
	return session.ModelEvent{Type: session.EventTextDelta, ID: "text-0", Text: text}
}

func finish() session.ModelEvent {
	return session.ModelEvent{Type: session.EventFinish, Reason: session.FinishStop}
}
