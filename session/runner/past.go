package runner

import (
	"cmp"
	"context"
	"slices"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// MaxPast is how many turns of a session Past answers at most.
const MaxPast = 100

// Past is what plugins would be given of a session's recorded turns, were they made now.
type Past struct {
	Session session.Session
	// Observation is what context sources are asked with, and System what they say now, as
	// it stands before any transform; of a source that could not be sampled there is nothing.
	Observation session.Observation
	System      []session.TextPart
	Tools       []session.ToolDefinition // of the newest turn
	Turns       []PastTurn               // the oldest first
}

// PastTurn is one recorded turn.
type PastTurn struct {
	Message string // the assistant's
	// Request is as it stands before any transform. It is made of the history before the
	// message, with the agents, models and tools that there are now.
	Request session.ModelRequest
	// Problem is why there would be no request, "" when there would be one.
	Problem string
	Calls   []PastCall
}

// PastCall is a call of a tool that the model made.
type PastCall struct {
	ID, Tool string
	Input    []byte // JSON
}

// Past reads the last turns of a session that its history still has, at most so many. It
// records nothing. Sources that are plugins are asked with ctx, and are not counted.
func (r *Runner) Past(ctx context.Context, id string, last int) (Past, error) {
	quiet := *r
	quiet.metrics = nil // it is no boundary
	d := &drain{Runner: &quiet, session: id}
	w, err := d.window(ctx)
	if err != nil {
		return Past{}, err
	}
	if w.epoch == nil {
		w.epoch = &session.Epoch{Seq: -1}
	}
	pin := d.Registries.Pin(w.session.Location.Root)
	defer pin.Release()
	past := Past{Session: w.session}
	for i, message := range slices.Backward(w.history) {
		if len(past.Turns) == min(last, MaxPast) {
			break
		}
		if message.Type == session.MessageAssistant && (len(message.Parts) > 0 || message.Completed != 0) {
			past.Turns = append(past.Turns, d.turnAt(ctx, pin, w, i))
		}
	}
	if len(past.Turns) > 0 {
		past.Tools = past.Turns[0].Request.Tools
	}
	slices.Reverse(past.Turns)
	past.sample(ctx, &turn{drain: d, pin: pin}, w)
	return past, context.Cause(ctx)
}

// turnAt is the turn that made the message at i.
func (d *drain) turnAt(ctx context.Context, pin *registry.Pin, w window, i int) PastTurn {
	message := w.history[i]
	w.history = w.history[:i:i]
	w.session.Agent = cmp.Or(message.Agent, w.session.Agent)
	if message.Model != nil {
		w.session.Model = *message.Model
	}
	t := &turn{drain: d, pin: pin}
	past := PastTurn{Message: message.ID, Calls: callsOf(message)}
	if err := t.choose(ctx, w, 1); err != nil {
		past.Problem = err.Error()
		return past
	}
	t.last = i > 0 && w.history[i-1].Type == session.MessageSystem && w.history[i-1].Text == lastStepReminder
	past.Request = t.lower(ctx, w)
	return past
}

// callsOf lists the calls of a message whose arguments are whole and that the host ran.
func callsOf(message session.Message) (calls []PastCall) {
	for _, part := range message.Parts {
		if part.Type == session.MessagePartTool && part.Tool.Raw == "" && !part.Tool.Hosted && len(part.Tool.Input) > 0 {
			calls = append(calls, PastCall{ID: part.ID, Tool: part.Tool.Name, Input: part.Tool.Input})
		}
	}
	return calls
}

// sample asks the sources as the next boundary would.
func (p *Past) sample(ctx context.Context, t *turn, w window) {
	unusable := t.choose(ctx, w, 1) != nil
	if w.epoch.Seq < 0 {
		w.epoch = nil // nothing was told yet
	}
	p.Observation = t.observation(w, unusable)
	for _, o := range t.observe(ctx, w, unusable) {
		if o.State == session.SourceValue {
			p.System = append(p.System, session.TextPart{ID: o.Key, Text: o.Baseline})
		}
	}
}

// Visible is what a transform is shown of a request: the parts it declared to read.
func Visible(spec session.TransformSpec, request session.ModelRequest) session.TransformInput {
	return visible(spec, request)
}
