package runner_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	"github.com/plinthhost/plinth/session/schema"
	. "github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// put appends to the session's log what another part of the program would.
func put(w *World, id string, payloads ...session.Payload) []store.Event {
	w.T.Helper()
	events, err := w.Encoder.Encode(session.System(), payloads...)
	if err != nil {
		w.T.Fatal(err)
	}
	if events, err = w.Log.Append(w.T.Context(), store.Batch{Aggregate: id, Mode: store.Any(), Events: events}); err != nil {
		w.T.Fatal(err)
	}
	return events
}

// ask admits a prompt of any body and wakes the session.
func ask(w *World, id string, prompt session.Prompt) {
	w.T.Helper()
	events := put(w, id, session.PromptAdmitted{Message: message(w), Prompt: prompt, Delivery: session.Steer, Wake: true})
	w.Coordinator.Wake(id, events[0].Seq)
}

func message(w *World) string { return w.Encoder.IDs.New(session.PrefixMessage) }

// idle waits until nobody works on the session.
func idle(w *World, id string) {
	w.T.Helper()
	if err := w.Coordinator.Settle(w.T.Context(), id); err != nil {
		w.T.Fatal(err)
	}
}

func interrupt(w *World, id string) {
	w.T.Helper()
	if _, err := w.Sessions.Interrupt(w.T.Context(), session.System(), id); err != nil {
		w.T.Fatal(err)
	}
}

func events(w *World, id string) []store.Event {
	w.T.Helper()
	page, err := w.Log.Read(w.T.Context(), id, -1, 10_000)
	if err != nil {
		w.T.Fatal(err)
	}
	return page.Events
}

// types are the types of the session's events, after the n-th one of a type.
func types(w *World, id, after string, n int) []string {
	w.T.Helper()
	var all []string
	for _, event := range events(w, id) {
		if n <= 0 {
			all = append(all, event.Type)
		}
		if event.Type == after {
			n--
		}
	}
	return all
}

// payloads are the session's events of one type.
func payloads[P session.Payload](w *World, id string) []P {
	w.T.Helper()
	var all []P
	for _, event := range events(w, id) {
		decoded, err := session.Decode(event)
		if err != nil {
			w.T.Fatal(err)
		}
		if payload, ok := decoded.(P); ok {
			all = append(all, payload)
		}
	}
	return all
}

// ended is how the session's last activity ended.
func ended(w *World, id string) session.ActivityEnded {
	w.T.Helper()
	all := payloads[session.ActivityEnded](w, id)
	if len(all) == 0 {
		w.T.Fatalf("no activity has ended:\n%s", Text(events(w, id)))
	}
	return all[len(all)-1]
}

// code is the failure's code, "" for none.
func code(failure *session.Failure) string {
	if failure == nil {
		return ""
	}
	return failure.Code
}

// assistants are the answers in the transcript.
func assistants(w *World, id string) []session.Message {
	w.T.Helper()
	return slices.DeleteFunc(w.Messages(id), func(m session.Message) bool { return m.Type != session.MessageAssistant })
}

func inbox(w *World, id string) []session.Input {
	w.T.Helper()
	pending, err := w.Sessions.Inbox(w.T.Context(), id)
	if err != nil {
		w.T.Fatal(err)
	}
	return pending
}

// texts are what a request's messages of a role say.
func texts(request session.ModelRequest, role session.Role) []string {
	var all []string
	for _, message := range request.Messages {
		if message.Role == role {
			all = append(all, message.Parts[0].Text)
		}
	}
	return all
}

// lastTexts are what the last message of each request says.
func lastTexts(w *World) []string {
	var all []string
	for _, request := range w.Provider.Requests() {
		all = append(all, request.Messages[len(request.Messages)-1].Parts[0].Text)
	}
	return all
}

// names are the tools that a request offers.
func names(request session.ModelRequest) []string {
	var all []string
	for _, tool := range request.Tools {
		all = append(all, tool.Name)
	}
	slices.Sort(all)
	return all
}

// callOf is the events of one call.
func callOf(id, name, input string) []session.ModelEvent {
	return []session.ModelEvent{
		{Type: session.EventToolStart, ID: id, Name: name},
		{Type: session.EventToolDelta, ID: id, Text: input},
		{Type: session.EventToolEnd, ID: id},
	}
}

// answering is a turn of the events and a finish.
func answering(events ...session.ModelEvent) Turn {
	return Events(append(slices.Clone(events), Finish(session.FinishStop))...)
}

// failing is a turn that yields the events and breaks off.
func failing(err error, events ...session.ModelEvent) Turn { return Then(Events(events...), Fail(err)) }

// modelsFunc is what is known of models, as a function.
type modelsFunc func(ref session.ModelRef) (session.ModelInfo, error)

func (f modelsFunc) Model(_ context.Context, ref session.ModelRef) (session.ModelInfo, error) {
	return f(ref)
}

// drainWith drains the session once with a runner of other services.
func drainWith(w *World, id string, config runner.Config, change func(*runner.Services)) error {
	w.T.Helper()
	services := runner.Services{Log: w.Log, Encoder: w.Encoder, Kinds: w.Kinds, Registries: w.Registries, Permissions: w.Permissions,
		Agents: w.Agents, Models: Models{}, Schemas: &schema.Cache{}, Live: w.Live, Outputs: w.Outputs, Todos: &session.TodoLists{},
		Logger: hclog.NewNullLogger()}
	change(&services)
	return runner.New(services, config).Drain(w.T.Context(), &session.Work{Session: id})
}

// configured is the configuration of most tests, changed.
func configured(change func(*runner.Config)) runner.Config {
	config := runner.DefaultConfig()
	config.Retries = 0
	change(&config)
	return config
}

// builder is the agent of most sessions, changed.
func builder(change func(*session.Agent)) []session.Agent {
	agent := session.Agent{Name: session.DefaultAgent, Mode: session.AgentPrimary}
	change(&agent)
	return []session.Agent{agent}
}

// blocking is a tool that says it runs and waits until it is released or stopped.
func blocking(w *World, name string, running chan<- struct{}, release <-chan struct{}) {
	w.Contribute("core/"+name, tool(w, name, func(ctx context.Context, _ session.ToolCall) (session.ToolOutput, error) {
		running <- struct{}{}
		select {
		case <-release:
			return Output("released"), nil
		case <-ctx.Done():
			return session.ToolOutput{}, ctx.Err()
		}
	}))
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// only fails the test unless there is exactly one.
func only[T any](t *testing.T, all []T) T {
	t.Helper()
	if len(all) != 1 {
		t.Fatalf("%d of them, want 1: %+v", len(all), all)
	}
	return all[0]
}

// transformer is a transform of a function.
type transformer struct {
	spec session.TransformSpec
	edit func(input session.TransformInput) []session.Edit
}

func (t transformer) Spec() session.TransformSpec { return t.spec }
func (t transformer) Apply(_ context.Context, input session.TransformInput) ([]session.Edit, error) {
	return t.edit(input), nil
}

// systemEditor is a transform of the system text.
func systemEditor(name string, edit func(input session.TransformInput) []session.Edit) session.Transform {
	parts := []session.RequestPart{session.RequestSystem}
	return transformer{session.TransformSpec{Name: name, Reads: parts, Writes: parts}, edit}
}

// prefix reports whether the second request begins with all that a provider caches of
// the first one.
func prefix(first, second session.ModelRequest) bool {
	n := len(first.Messages)
	return n <= len(second.Messages) && same(first.System, second.System) && same(first.Tools, second.Tools) && same(first.Messages, second.Messages[:n])
}

func same(a, b any) bool {
	left, err := json.Marshal(a)
	if err != nil {
		return false
	}
	right, err := json.Marshal(b)
	return err == nil && string(left) == string(right)
}

// nothingStreams waits until nothing works on the session: an event is readable a moment
// before the live text that it carries whole ends.
func nothingStreams(t *testing.T, w *World, id string) {
	t.Helper()
	idle(w, id)
	if open := w.Live.Open(id); len(open) != 0 {
		t.Errorf("still live: %+v", open)
	}
}
