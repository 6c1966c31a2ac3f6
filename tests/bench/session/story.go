package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// story is the log of a session as a runner would have written it. Nothing runs.
type story struct {
	id      string
	encoder session.Encoder
	first   int64 // sequence of the first of events
	events  []store.Event
	prompts int
	now     int64 // the time of the last event, milliseconds since 1970
}

// newStory begins a session and its context epoch.
func newStory(encoder session.Encoder) *story {
	s := &story{id: encoder.IDs.New(session.PrefixSession), encoder: encoder}
	value, _ := json.Marshal(words(40)) // a string always has a JSON form
	s.tell(
		session.Created{Title: "Bench", Location: session.Location{Directory: "/project", Root: "/project", Git: true}, Agent: session.DefaultAgent, Model: model()},
		session.ContextInitialized{Baseline: words(300), Snapshot: session.Snapshot{"core/bench/project": {Value: value}}})
	return s
}

// goOn is a session's story from a sequence on.
func goOn(encoder session.Encoder, id string, first int64) *story {
	return &story{id: id, encoder: encoder, first: first}
}

// next is the sequence of what is told next.
func (s *story) next() int64 { return s.first + int64(len(s.events)) }

// tell appends an event for each payload.
func (s *story) tell(payloads ...session.Payload) {
	events, err := s.encoder.Encode(session.System(), payloads...)
	if err != nil {
		panic(err) // a payload of this file has no JSON form
	}
	for _, event := range events {
		event.Aggregate, event.Seq, event.Fence = s.id, s.next(), 1
		s.now = event.Time.UnixMilli()
		s.events = append(s.events, event)
	}
}

// What work tells: how many events, and about how many bytes a model is sent of them.
const (
	promptEvents = 18
	promptBytes  = 2500
)

// work tells a prompt that takes two turns: one that reasons and calls two tools, of
// which one asks for permission, and one that answers.
func (s *story) work() {
	s.prompts++
	prompt := session.Prompt{Text: fmt.Sprintf("Prompt %d: %s", s.prompts, words(25))}
	message, activity := s.encoder.IDs.New(session.PrefixMessage), s.encoder.IDs.New(session.PrefixActivity)
	s.tell(session.PromptAdmitted{Message: message, Prompt: prompt, Delivery: session.Steer, Wake: true})
	s.tell(session.ActivityStarted{Activity: activity, Opener: session.OpenedByPrompt},
		session.PromptPromoted{Message: message, Prompt: prompt, Created: s.now})
	s.turn(activity, 1)
	answer := s.step()
	s.tell(session.ReasoningEnded{Message: answer, Part: "reasoning-0", Text: words(60), Metadata: json.RawMessage(`{"signature":"` + strings.Repeat("Zm9v", 40) + `"}`)})
	s.call(answer, "call_read", "read", `{"path":"session/runner/turn.go","offset":1,"limit":80}`, false)
	s.call(answer, "call_bash", "bash", `{"command":"go test ./session/...","description":"Runs the tests"}`, true)
	s.end(answer, session.FinishToolCalls)
	s.turn(activity, 2)
	answer = s.step()
	s.tell(session.TextEnded{Message: answer, Part: "text-0", Text: words(90)})
	s.end(answer, session.FinishStop)
	s.tell(session.ActivityEnded{Activity: activity, Outcome: session.Completed})
}

func (s *story) turn(activity string, n int) {
	s.tell(session.TurnStarted{Activity: activity, Turn: n, Step: n, Attempt: 1, Location: "/project", Epoch: 1, Agent: session.DefaultAgent, Model: model(),
		Pins:   []session.Pin{{Scope: "core/openai", Revision: strings.Repeat("ab", 32)}, {Scope: "core/files", Revision: strings.Repeat("cd", 32)}},
		Digest: strings.Repeat("0f", 32)})
}

func (s *story) step() (message string) {
	message = s.encoder.IDs.New(session.PrefixMessage)
	s.tell(session.StepStarted{Message: message, Agent: session.DefaultAgent, Model: model()})
	return message
}

func (s *story) call(message, call, tool, input string, asks bool) {
	s.tell(session.ToolCalled{Message: message, Call: call, Name: tool, Input: json.RawMessage(input), Revision: "r1"})
	if asks {
		request := s.encoder.IDs.New(session.PrefixPermission)
		s.tell(session.PermissionAsked{Request: request, Message: message, Call: call, Agent: session.DefaultAgent,
			Ask: session.PermissionRequest{Action: tool, Resources: []string{"go test ./session/..."}, Save: []string{"go test *"}}},
			session.PermissionReplied{Request: request, Reply: session.ReplyOnce})
	}
	s.tell(session.ToolSucceeded{Message: message, Call: call, Title: tool, Revision: "r1",
		Content: []session.ToolContent{{Type: "text", Text: words(120)}}})
}

func (s *story) end(message string, finish session.FinishReason) {
	cost := int64(1_250_000)
	s.tell(session.StepEnded{Message: message, Finish: finish, Usage: &session.Usage{Input: 12_000, Output: 400, CacheRead: 11_000}, Cost: &cost})
}

// command tells a command that a person ran: one message of two events.
func (s *story) command() {
	exit := 0
	call := s.encoder.IDs.New("call_")
	s.tell(session.ShellStarted{Message: s.encoder.IDs.New(session.PrefixMessage), Call: call, Command: "git status"},
		session.ShellEnded{Call: call, Output: words(60), Exit: &exit})
}

// remark tells a message of one event.
func (s *story) remark() {
	s.tell(session.Synthetic{Message: s.encoder.IDs.New(session.PrefixMessage), Text: words(50)})
}

// fold ends the history so far: the model is sent a summary of it.
func (s *story) fold() {
	s.tell(session.CompactionEnded{Message: s.encoder.IDs.New(session.PrefixMessage), Reason: session.CompactionAuto,
		Summary: words(200), Boundary: s.next() - 1})
}

// pad tells changes of a list until there are n events.
func (s *story) pad(n int) {
	for len(s.events) < n {
		s.tell(session.TodosChanged{Todos: []session.Todo{{ID: "1", Content: words(8), Status: "completed"}, {ID: "2", Content: words(8), Status: "pending"}}})
	}
}

// chunk is how many events are replayed at once.
const chunk = 500

// replay takes the events into a log.
func (s *story) replay(ctx context.Context, log store.Log) error {
	for rest := s.events; len(rest) > 0; {
		some := rest[:min(len(rest), chunk)]
		if err := log.Replay(ctx, some, store.ReplayOptions{Owner: "bench"}); err != nil {
			return err
		}
		rest = rest[len(some):]
	}
	return nil
}

// words is a text of n words, about six bytes each.
func words(n int) string {
	some := strings.Fields("the runner reads history again after every tool has settled and records what it did before anything follows")
	var text strings.Builder
	for i := range n {
		text.WriteString(some[(i*7+n)%len(some)])
		text.WriteByte(' ')
	}
	return strings.TrimSpace(text.String())
}
