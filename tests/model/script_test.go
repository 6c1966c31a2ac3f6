package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/plinthhost/plinth/session"
)

// planned begins a prompt that says what the model answers to it, turn by turn.
const planned = "plan: "

// script is the model: what it answers follows from the request and from how often
// the same turn was asked before.
type script struct{ host *host }

type yield = func(session.ModelEvent, error) bool

// Stream plays the turn of the newest plan that the history has come to.
func (s script) Stream(ctx context.Context, request session.ModelRequest) iter.Seq2[session.ModelEvent, error] {
	return func(yield yield) {
		attempt, leave := s.host.world.asked(s.host, request)
		defer leave()
		turn, number := turnOf(request)
		s.play(ctx, turn, number, attempt, yield)
	}
}

// turnOf answers the turn that a request is for and its number in the plan.
func turnOf(request session.ModelRequest) (turn string, number int) {
	plan := ""
	for _, message := range request.Messages {
		switch {
		case message.Role == session.RoleUser && strings.HasPrefix(message.Parts[0].Text, planned):
			plan, number = strings.TrimPrefix(message.Parts[0].Text, planned), 0
		case message.Role == session.RoleAssistant:
			number++
		}
	}
	if turns := strings.Split(plan, "; "); plan != "" && number < len(turns) {
		return turns[number], number
	}
	return "say", number
}

func event(kind session.ModelEventType, id, text string) session.ModelEvent {
	return session.ModelEvent{Type: kind, ID: id, Text: text}
}

func failure(class string, retryable bool) error {
	return &session.ProviderError{Class: class, Message: "the model failed: " + class, Retryable: retryable}
}

// play yields one answer.
func (s script) play(ctx context.Context, turn string, number, attempt int, yield yield) {
	kind, rest, _ := strings.Cut(turn, " ")
	finish := func(reason session.FinishReason) {
		yield(session.ModelEvent{Type: session.EventFinish, Reason: reason}, nil)
	}
	say := func(text string) bool { return yield(event(session.EventTextDelta, "text", text), nil) }
	switch kind {
	case "say", "once":
		if kind == "once" && attempt == 1 {
			yield(session.ModelEvent{}, failure(session.ProviderOverloaded, true))
		} else if say("Said ") && say("it") {
			finish(session.FinishStop)
		}
	case "empty":
		finish(session.FinishStop)
	case "fail":
		yield(session.ModelEvent{}, failure(session.ProviderAuthentication, false))
	case "busy":
		yield(session.ModelEvent{}, failure(session.ProviderRateLimit, true))
	case "cut":
		if say("Begun") {
			yield(session.ModelEvent{}, failure(session.ProviderTransport, true))
		}
	case "cutcall":
		if calls(rest, number, yield) {
			yield(session.ModelEvent{}, failure(session.ProviderTransport, true))
		}
	case "broken":
		if say("Begun") {
			yield(event(session.EventToolEnd, "nothing", ""), nil)
		}
	case "hold":
		if say("Thinking") && s.host.world.block(ctx, "the model") == nil && say(", done") {
			finish(session.FinishStop)
		}
	case "call":
		if calls(rest, number, yield) {
			finish(session.FinishToolCalls)
		}
	case "task", "background":
		input, _ := json.Marshal(taskInput{Plan: rest, Background: kind == "background"})
		if one("c0", "task", string(input), yield) {
			finish(session.FinishToolCalls)
		}
	default:
		panic("no such turn: " + turn)
	}
}

// calls yields one call per tool.
func calls(tools string, number int, yield yield) bool {
	for i, tool := range strings.Fields(tools) {
		if !one(fmt.Sprintf("c%d", i), tool, fmt.Sprintf(`{"at":"%d.%d"}`, number, i), yield) {
			return false
		}
	}
	return true
}

func one(id, tool, input string, yield yield) bool {
	start := event(session.EventToolStart, id, "")
	start.Name = tool
	return yield(start, nil) && yield(event(session.EventToolDelta, id, input), nil) && yield(event(session.EventToolEnd, id, ""), nil)
}

// digestOf names a request as session.turn.started does.
func digestOf(request session.ModelRequest) string {
	encoded, err := json.Marshal(request)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}
