package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// lifeRig is a world whose sessions have histories that nobody had to play.
type lifeRig struct {
	*sessiontest.World
	t *testing.T
}

func newLifeRig(t *testing.T, dir string) *lifeRig {
	t.Helper()
	options := sessiontest.Options{Dir: dir}
	options.Sessions.Slug = session.Slug
	return &lifeRig{World: sessiontest.New(t, options), t: t}
}

// put appends payloads to a session and answers the last sequence.
func (r *lifeRig) put(id string, payloads ...session.Payload) int64 {
	r.t.Helper()
	events, err := r.Encoder.Encode(session.System(), payloads...)
	if err != nil {
		r.t.Fatal(err)
	}
	written, err := r.Log.Append(r.t.Context(), store.Batch{Aggregate: id, Events: events})
	if err != nil {
		r.t.Fatal(err)
	}
	return written[len(written)-1].Seq
}

func (r *lifeRig) message() string { return r.Encoder.IDs.New(session.PrefixMessage) }

// round is one prompt with an answer that calls a tool: eight events.
func (r *lifeRig) round(text string, output int) []session.Payload {
	prompt, answer := r.message(), r.message()
	body := session.Prompt{Text: text}
	usage := &session.Usage{Input: 100, Output: 10}
	return []session.Payload{
		session.PromptAdmitted{Message: prompt, Prompt: body, Delivery: session.Steer},
		session.PromptPromoted{Message: prompt, Prompt: body, Created: sessiontest.Clock{}.Now().UnixMilli()},
		session.StepStarted{Message: answer, Agent: "build", Model: session.ModelRef{Provider: "scripted", Model: "m1"}},
		session.TextEnded{Message: answer, Part: "text-0", Text: "I look at " + text},
		session.ToolCalled{Message: answer, Call: "call-0", Name: "read", Input: json.RawMessage(`{"path":"a"}`)},
		session.ToolSucceeded{Message: answer, Call: "call-0", Content: []session.ToolContent{{Type: "text", Text: strings.Repeat("x", output)}}},
		session.TextEnded{Message: answer, Part: "text-1", Text: "It is " + text},
		session.StepEnded{Message: answer, Finish: session.FinishStop, Usage: usage},
	}
}

// rounds adds n of them.
func (r *lifeRig) rounds(id string, n, output int) {
	r.t.Helper()
	for done := 0; done < n; {
		var payloads []session.Payload
		for ; done < n && len(payloads) < 1000; done++ {
			payloads = append(payloads, r.round(fmt.Sprint("thing ", done), output)...)
		}
		r.put(id, payloads...)
	}
}

// compact folds all but the newest message, and keeps one of the folded.
func (r *lifeRig) compact(id string) {
	r.t.Helper()
	messages := r.Messages(id)
	kept := messages[len(messages)-4].ID
	r.put(id, session.CompactionEnded{Message: r.message(), Reason: session.CompactionManual, Summary: "what was",
		Boundary: messages[len(messages)-2].Seq, Kept: []string{kept}})
}

// history is what the model is sent.
func (r *lifeRig) history(id string) (history []session.Message) {
	r.t.Helper()
	err := r.Log.View(r.t.Context(), func(tx store.Tx) error {
		s, err := session.LoadSession(r.t.Context(), tx, id)
		if err != nil {
			return err
		}
		history, err = session.LoadHistory(r.t.Context(), tx, s, -1)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return history
}

// fork must succeed.
func (r *lifeRig) fork(request session.ForkRequest) session.Session {
	r.t.Helper()
	forked, created, err := r.Sessions.Fork(r.t.Context(), session.System(), request)
	if err != nil || !created {
		r.t.Fatalf("fork: %v, created %v", err, created)
	}
	return forked
}

// said compares histories by what they say: ids, places and the bounds of a
// compaction are each session's own.
func saidIn(history []session.Message) []session.Message {
	var said []session.Message
	for _, message := range history {
		message.ID, message.Seq, message.Boundary, message.Kept = "", 0, 0, nil
		said = append(said, message)
	}
	return said
}
