package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/compaction"
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
		turn, number := s.turn(request)
		attempt, leave := s.host.world.asked(ctx, s.host, request, turn)
		defer leave()
		if request.Purpose == session.PurposeCompaction {
			s.condense(ctx, summaries[s.host.world.summary.Load()], yield)
			return
		}
		if turn == "tight" { // until something was condensed
			turn = "full"
			if condensed(request) {
				turn = "say"
			}
		}
		s.play(ctx, turn, number, attempt, func(event session.ModelEvent, err error) bool {
			if event.Type == session.EventFinish && len(turn)%2 == 1 { // some tell what they used
				if !yield(session.ModelEvent{Type: session.EventUsage, Usage: session.Usage{Input: compaction.Request(request) + 7, Output: 5}}, nil) {
					return false
				}
			}
			return yield(event, err)
		})
	}
}

func condensed(request session.ModelRequest) bool {
	return slices.ContainsFunc(request.Messages, func(message session.ModelMessage) bool {
		return strings.HasPrefix(message.Parts[0].Text, "<summary>")
	})
}

// turn answers the turn that a request is for and its number in the plan. Where answers
// were condensed the model remembers how far it had come.
func (s script) turn(request session.ModelRequest) (turn string, number int) {
	plan, id := "", ""
	for _, message := range request.Messages {
		switch {
		case message.Role == session.RoleUser && strings.HasPrefix(message.Parts[0].Text, planned):
			plan, id, number = strings.TrimPrefix(message.Parts[0].Text, planned), message.ID, 0
		case message.Role == session.RoleAssistant:
			number++
		}
	}
	turns := strings.Split(plan, "; ")
	w := s.host.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if condensed(request) {
		number = max(number, w.played[id])
	}
	if plan == "" || number >= len(turns) {
		return "say", number
	}
	if turn = turns[number]; turn != "full" && turn != "tight" {
		w.played[id] = number + 1
	}
	return turn, number
}

func event(kind session.ModelEventType, id, text string) session.ModelEvent {
	return session.ModelEvent{Type: kind, ID: id, Text: text}
}

func failure(class string, retryable bool) error {
	return &session.ProviderError{Class: class, Message: "the model failed: " + class, Retryable: retryable}
}

// atLength is long enough that a summary in its place saves something.
var atLength = "it" + strings.Repeat(", at length", 25)

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
		} else if say("Said ") && say(atLength) {
			finish(session.FinishStop)
		}
	case "long":
		if say(strings.Repeat("This goes on. ", 80)) {
			finish(session.FinishStop)
		}
	case "full":
		yield(session.ModelEvent{}, failure(session.ProviderContextOverflow, false))
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

// summaries are the ways in which one can come out.
var summaries = []string{"good", "fail", "busy", "empty", "hold", "long", "call", "good"}

// condense yields the answer to a request for a summary.
func (s script) condense(ctx context.Context, how string, yield yield) {
	finish := session.ModelEvent{Type: session.EventFinish, Reason: session.FinishStop}
	say := func(text string) bool { return yield(event(session.EventTextDelta, "text", text), nil) }
	switch how {
	case "good":
		_ = say("Briefly") && yield(session.ModelEvent{Type: session.EventUsage, Usage: session.Usage{Input: 30, Output: 3}}, nil) && yield(finish, nil)
	case "fail":
		yield(session.ModelEvent{}, failure(session.ProviderAuthentication, false))
	case "busy":
		yield(session.ModelEvent{}, failure(session.ProviderRateLimit, true))
	case "empty":
		yield(finish, nil)
	case "hold":
		_ = say("Slowly") && s.host.world.block(ctx, "the summary") == nil && yield(finish, nil)
	case "long":
		_ = say(strings.Repeat("At length ", 2000)) && yield(finish, nil)
	case "call":
		one("c0", "echo", "{}", yield)
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
