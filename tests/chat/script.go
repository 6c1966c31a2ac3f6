// Package chat is a Chat Completions server that answers from a script. Tests and
// benchmarks use it in place of a model; it speaks the real wire format, with
// streamed pieces, usage and errors, and refuses what a real server would refuse.
package chat

import (
	"net/http"
	"strings"
	"time"
)

// Script answers what to say to a request. It may be called by several
// goroutines at once.
type Script func(request Request) Turn

// Turn is one answer.
type Turn struct {
	Reasoning string // streamed as reasoning_content, before the text
	Text      string
	Calls     []ToolCall
	// Finish is the finish_reason; "" means "tool_calls" with calls, "stop" without.
	Finish string
	// Usage is what the request is said to have cost; nil estimates it.
	Usage *Usage
	// Deltas is how many pieces the text comes in, at most one per byte; 0 means 50.
	Deltas int
	// Delay is waited before every piece.
	Delay time.Duration
	// Gate, when not nil, is received from before every piece: the test decides when.
	Gate <-chan struct{}
	// Fault goes wrong on purpose.
	Fault Fault
}

// ToolCall is a call of a tool, its arguments streamed in pieces of a few bytes.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string
}

// Usage counts tokens.
type Usage struct {
	Prompt     int64
	Completion int64
	Cached     int64
	Reasoning  int64
}

// Fault is what goes wrong with an answer. The zero Fault is none.
type Fault struct {
	// Status other than 0 is answered with Body, or a JSON error when Body is empty,
	// and no stream.
	Status  int
	Body    string
	Headers http.Header
	// Cut drops the connection after CutAfter pieces.
	Cut      bool
	CutAfter int
	// Garbage is sent as the data of an event after GarbageAfter pieces.
	Garbage      string
	GarbageAfter int
	// NoDone leaves out the final [DONE]; NoFinish the finish_reason too.
	NoDone   bool
	NoFinish bool
}

// Turns answers by the turn's number in its conversation: how many assistant
// messages the request has. A turn too many is an error 500 that says so.
func Turns(turns ...Turn) Script {
	return func(request Request) Turn {
		if request.Turn < len(turns) {
			return turns[request.Turn]
		}
		return Turn{Fault: Fault{Status: http.StatusInternalServerError, Body: `{"error":{"message":"the script has no further turn","type":"script"}}`}}
	}
}

// Say always answers text.
func Say(text string) Script { return func(Request) Turn { return Turn{Text: text} } }

// defaultDeltas is how many pieces a text comes in when its turn does not say.
const defaultDeltas = 50

// pieces cuts text into at most n parts of about the same length, between characters.
func pieces(text string, n int) []string {
	if n <= 0 {
		n = defaultDeltas
	}
	runes := []rune(text)
	n = min(n, len(runes))
	parts := make([]string, 0, n)
	for i := range n {
		parts = append(parts, string(runes[i*len(runes)/n:(i+1)*len(runes)/n]))
	}
	return parts
}

// finish is the turn's finish_reason.
func (t Turn) finish() string {
	switch {
	case t.Finish != "":
		return t.Finish
	case len(t.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// usage is the turn's usage, estimated at four bytes a token when not given.
func (t Turn) usage(request Request) Usage {
	if t.Usage != nil {
		return *t.Usage
	}
	written := len(t.Reasoning) + len(t.Text)
	for _, call := range t.Calls {
		written += len(call.Name) + len(call.Arguments)
	}
	return Usage{Prompt: int64(len(request.Body)+3) / 4, Completion: int64(written+3) / 4}
}

// Repeated is a text of n words, for benchmarks.
func Repeated(word string, n int) string {
	return strings.TrimSuffix(strings.Repeat(word+" ", n), " ")
}
