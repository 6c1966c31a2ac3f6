package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/tests/chat"
)

// held is a model whose answers to "slow" begin and then wait, until they are let go.
type held struct {
	*chat.Server
	began chan struct{} // receives when such an answer has its first pieces out
	gate  chan struct{}
	free  atomic.Bool
}

func (w *world) held() *held {
	h := &held{began: make(chan struct{}, 16), gate: make(chan struct{})}
	h.Server = w.chat(func(request chat.Request) chat.Turn {
		if request.LastUser() != "slow" || h.free.Load() {
			return chat.Turn{Text: "fine", Deltas: 2}
		}
		go func() {
			for range 3 {
				h.gate <- struct{}{}
			}
			h.began <- struct{}{}
		}()
		return chat.Turn{Text: "so far so good", Deltas: 7, Gate: h.gate}
	})
	return h
}

// ended answers the ends of the session's activities so far.
func (h *host) ended(w *world, id string) (all []session.ActivityEnded) {
	w.t.Helper()
	page, err := h.client.Events(w.t.Context(), id, "", 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, event := range page.Events {
		if event.Type != (session.ActivityEnded{}).EventType() {
			continue
		}
		var ended session.ActivityEnded
		if err := json.Unmarshal(event.Data, &ended); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, ended)
	}
	return all
}

// shown waits until the session shows text that is still streaming.
func (h *host) shown(w *world, id string) {
	w.t.Helper()
	for update, err := range h.client.Follow(w.t.Context(), id, client.FollowOptions{Deltas: true}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if update.Part != nil {
			return
		}
	}
}

// TestSignalWhileATurnRuns: a host that is told to stop in the middle of an answer
// stops in good order, keeps what has arrived, and the session goes on by itself with
// the next host, also where a crash would end them: what was cut off, then what
// waited.
func TestSignalWhileATurnRuns(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			w := newWorld(t)
			model := w.held()
			w.recovering(model.Server, session.RecoverOff)
			h := w.serve()
			id := h.session(w)
			var waiting protocol.Receipt
			for _, text := range []string{"slow", "after it"} {
				var err error
				waiting, err = h.client.Prompt(t.Context(), id, protocol.Prompt{Delivery: protocol.Queue, PromptBody: protocol.PromptBody{Text: text}})
				if err != nil {
					t.Fatal(err)
				}
			}
			h.shown(w, id)
			if _, code := h.stop(signal); code != 0 {
				t.Errorf("exit %d\n%s", code, h.notes)
			}
			if _, err := os.Lstat(w.socket()); err == nil {
				t.Error("the socket is left behind")
			}

			model.free.Store(true)
			h = w.serve()
			h.wentOn(w, id, waiting)
		})
	}
}

// wentOn holds a session whose first answer was cut off by a planned stop to having
// ended both prompts, without anybody who asked for it.
func (h *host) wentOn(w *world, id string, waiting protocol.Receipt) {
	w.t.Helper()
	all := []string{session.ActivitySuspended{}.EventType(), session.ActivityRecovered{}.EventType(), session.ActivityEnded{}.EventType(),
		session.ResumeRequested{}.EventType(), session.PromptPromoted{}.EventType()}
	var seen []string
	for update, err := range h.client.Follow(w.t.Context(), id, client.FollowOptions{Types: all}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if update.Event == nil {
			continue
		}
		seen = append(seen, strings.TrimPrefix(update.Event.Type, "session."))
		if len(seen) == 6 {
			break
		}
	}
	want := []string{"prompt.promoted", "activity.suspended", "activity.recovered", "activity.ended", "prompt.promoted", "activity.ended"}
	if diff := cmp.Diff(want, seen); diff != "" {
		w.t.Error(diff)
	}
	for _, ended := range h.ended(w, id) {
		if ended.Outcome != session.Completed {
			w.t.Errorf("ended %+v", ended)
		}
	}
	again, err := h.client.Prompt(w.t.Context(), id, protocol.Prompt{ID: waiting.ID, Delivery: protocol.Queue, PromptBody: protocol.PromptBody{Text: "after it"}})
	if err != nil || again.AdmittedSeq != waiting.AdmittedSeq || again.PromotedSeq == nil {
		w.t.Errorf("what waited: %+v, %v", again, err)
	}
	messages, err := h.client.Messages(w.t.Context(), id, protocol.ListMessages{})
	if err != nil || !strings.HasPrefix(messages.Messages[1].Parts[0].Text, "so") {
		w.t.Errorf("what had arrived: %+v, %v", messages, err)
	}
}

// TestInterruptedRun: an interrupt of plinth run stops the session's work and not the
// host, and says how to go on.
func TestInterruptedRun(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with a host of its own", "with a host that runs"} {
		t.Run(name, func(t *testing.T) {
			for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
				w := newWorld(t)
				model := w.held()
				if name == "with a host that runs" {
					w.serve()
				}
				p := w.spawn("run", "slow")
				<-model.began
				_, code := p.stop(signal)
				_, id, _ := strings.Cut(strings.TrimSpace(p.notes.String()), "plinth run --session ")
				if code != 5 || id == "" {
					t.Fatalf("exit %d\n%s", code, p.notes)
				}
				if out, notes, code := w.plinth("run", "--session", id, "good"); code != 0 || out != "fine\n" {
					t.Errorf("afterwards exit %d %q\n%s", code, out, notes)
				}
			}
		})
	}
}

// TestFollowOverARestart: plinth events --follow sees every event once and in order
// over the end of a host, and ends well when it is told to.
func TestFollowOverARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.serve()
	id := h.session(w)
	follower := w.spawn("events", id, "--follow", "--json")
	next := int64(0)
	upTo := func(last string) {
		t.Helper()
		for {
			var event protocol.Event
			if err := json.Unmarshal([]byte(follower.line()), &event); err != nil {
				t.Fatal(err)
			}
			if event.Seq != next || event.Cursor == "" {
				t.Errorf("event %d, want %d", event.Seq, next)
			}
			next++
			if event.Type == last {
				return
			}
		}
	}
	upTo(session.Created{}.EventType())
	for _, end := range []func(){h.kill, func() { h.stop(syscall.SIGTERM) }, nil} {
		if _, err := h.client.PromptAndWait(t.Context(), id, protocol.Prompt{PromptBody: protocol.PromptBody{Text: "count 3"}}); err != nil {
			t.Fatal(err)
		}
		upTo(session.ActivityEnded{}.EventType())
		if end != nil {
			end()
			h = w.serve()
		}
	}
	if rest, code := follower.stop(syscall.SIGINT); code != 0 || rest != "" {
		t.Errorf("exit %d, and %q\n%s", code, rest, follower.notes)
	}
	if !strings.Contains(follower.notes.String(), "the host is away") {
		t.Errorf("nothing was said of the host's absence:\n%s", follower.notes)
	}
}

// TestHostThatGoesAwayUnderARun: a run whose host dies goes on with the next one.
func TestHostThatGoesAwayUnderARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	model := w.held()
	w.recovering(model.Server, session.RecoverOff)
	h := w.serve()
	p := w.spawn("run", "slow")
	<-model.began
	h.kill()
	model.free.Store(true)
	h = w.serve()
	rest, code := p.wait()
	if code != 5 || !strings.Contains(p.notes.String(), "the host is away") {
		t.Errorf("exit %d %q\n%s", code, rest, p.notes)
	}
	list, err := h.client.Sessions(t.Context(), protocol.ListSessions{})
	if err != nil || len(list.Sessions) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	for update, err := range h.client.Follow(t.Context(), list.Sessions[0].ID, client.FollowOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if update.Live {
			break
		}
	}
	if all := h.ended(w, list.Sessions[0].ID); len(all) != 1 || all[0].Outcome != session.Interrupted {
		t.Errorf("%+v", all)
	}
}
