package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/tests/chat"
)

// kills is how many random points of the conversation the host dies at.
const kills = 50

// The host is killed at a random point of a conversation and started again. What
// was admitted is there once, what was promoted is visible once, no tool ran twice,
// and a client that comes back by cursor sees every event once and in order.
func TestKillAtRandomPoints(t *testing.T) {
	for i := range kills {
		t.Run(fmt.Sprintf("%02d", i), func(t *testing.T) {
			t.Parallel()
			killedAndContinued(t, rand.New(rand.NewPCG(20261121, uint64(i))))
		})
	}
}

func killedAndContinued(t *testing.T, random *rand.Rand) {
	w := newWorld(t)
	server, err := chat.Start(func(request chat.Request) chat.Turn {
		turn := conversation()(request)
		turn.Delay = time.Millisecond // spreads the points to die at
		return turn
	}, chat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	w.recovering(server, session.RecoverResume)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	first := w.serve()
	created, err := first.client.CreateSession(ctx, protocol.CreateSession{Location: protocol.Location{Directory: w.project}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.client.Prompt(ctx, created.ID, protocol.Prompt{PromptBody: protocol.PromptBody{Text: "What is here?"}}); err != nil {
		t.Fatal(err)
	}
	queued, err := first.client.Prompt(ctx, created.ID, protocol.Prompt{Delivery: protocol.Queue, PromptBody: protocol.PromptBody{Text: "And then?"}})
	if err != nil {
		t.Fatal(err)
	}
	seen := newObserver(t)
	dying := time.AfterFunc(time.Duration(random.IntN(180_000))*time.Microsecond, first.kill)
	followCtx, stop := context.WithCancel(ctx)
	for update, err := range first.client.Follow(followCtx, created.ID, client.FollowOptions{Retry: func(error, time.Duration) { stop() }}) {
		if err != nil {
			break
		}
		seen.take(update)
	}
	stop()
	dying.Stop()
	first.kill()

	second := w.serve()
	// The same prompt again has its first receipt: it is admitted once.
	again, err := second.client.Prompt(ctx, created.ID, protocol.Prompt{ID: queued.ID, Delivery: protocol.Queue, PromptBody: protocol.PromptBody{Text: "And then?"}})
	if err != nil || again.AdmittedSeq != queued.AdmittedSeq {
		t.Fatalf("the retry's receipt is %+v, %v; want that of %+v", again, err, queued)
	}
	for update, err := range second.client.Follow(ctx, created.ID, client.FollowOptions{After: seen.cursor}) {
		if err != nil {
			t.Fatal(err)
		}
		seen.take(update)
		if seen.promoted[queued.ID] == 1 && !seen.busy {
			break
		}
	}
	seen.settled()
}

// observer checks the events of a session as a client sees them.
type observer struct {
	t        *testing.T
	next     int64
	cursor   string
	admitted map[string]int
	promoted map[string]int
	called   map[string]int
	results  map[string]int
	busy     bool
}

func newObserver(t *testing.T) *observer {
	return &observer{t: t, admitted: map[string]int{}, promoted: map[string]int{}, called: map[string]int{}, results: map[string]int{}}
}

func (o *observer) take(update client.Update) {
	o.t.Helper()
	if update.Event == nil {
		return
	}
	event := update.Event
	if event.Seq != o.next {
		o.t.Errorf("event %d follows event %d", event.Seq, o.next-1)
	}
	o.next, o.cursor = event.Seq+1, update.Cursor
	var data struct {
		Message, Call string
	}
	if err := json.Unmarshal(event.Data, &data); err != nil {
		o.t.Fatal(err)
	}
	switch event.Type {
	case session.PromptAdmitted{}.EventType():
		o.admitted[data.Message]++
	case session.PromptPromoted{}.EventType():
		o.promoted[data.Message]++
	case session.ToolCalled{}.EventType():
		o.called[data.Message+data.Call]++
	case session.ToolSucceeded{}.EventType(), session.ToolFailed{}.EventType():
		o.results[data.Message+data.Call]++
	case session.ActivityStarted{}.EventType():
		o.busy = true
	case session.ActivityEnded{}.EventType():
		o.busy = false
	}
}

// settled checks what must hold once nothing runs.
func (o *observer) settled() {
	o.t.Helper()
	if len(o.admitted) != 2 {
		o.t.Errorf("%d prompts were admitted, want 2", len(o.admitted))
	}
	for _, counted := range []map[string]int{o.admitted, o.promoted, o.called, o.results} {
		for id, n := range counted {
			if n != 1 {
				o.t.Errorf("%s appears %d times", id, n)
			}
		}
	}
	for id := range o.called {
		if o.results[id] != 1 {
			o.t.Errorf("call %s has %d settlements", id, o.results[id])
		}
	}
}
