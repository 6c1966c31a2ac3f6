package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// office is a kernel whose permissions are asked directly, without a runner.
type office struct {
	*sessiontest.World
	*session.Permissions

	mu    sync.Mutex
	wakes []string // "session seq"
}

func newOffice(t *testing.T, agents []session.Agent, rules ...session.Rule) *office {
	t.Helper()
	d := &office{World: sessiontest.New(t, sessiontest.Options{Agents: agents})}
	d.Permissions = session.NewPermissions(d.Log, d.Encoder, rules, d.Agents, d.wake, hclog.NewNullLogger())
	return d
}

func (d *office) wake(id string, seq int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wakes = append(d.wakes, fmt.Sprint(id, " ", seq))
}

func (d *office) woken() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.wakes)
}

// make makes a session in the project, under a parent unless that is empty.
func (d *office) make(root, parent string, rules ...session.Rule) string {
	d.T.Helper()
	id := d.Encoder.IDs.New(session.PrefixSession)
	d.append(id, session.Created{Location: session.Location{Directory: root, Root: root}, Agent: "build", Parent: parent, Rules: rules})
	return id
}

func (d *office) append(aggregate string, payloads ...session.Payload) []store.Event {
	d.T.Helper()
	events, err := d.Encoder.Encode(session.System(), payloads...)
	if err != nil {
		d.T.Fatal(err)
	}
	if events, err = d.Log.Append(d.T.Context(), store.Batch{Aggregate: aggregate, Mode: store.Any(), Events: events}); err != nil {
		d.T.Fatal(err)
	}
	return events
}

func (d *office) asker(id string) session.Asker {
	d.T.Helper()
	fence, err := d.Log.Acquire(d.T.Context(), id)
	if err != nil {
		d.T.Fatal(err)
	}
	var s session.Session
	if err := d.Log.View(d.T.Context(), func(tx store.Tx) (err error) {
		s, err = session.LoadSession(d.T.Context(), tx, id)
		return err
	}); err != nil {
		d.T.Fatal(err)
	}
	return session.Asker{Session: id, Agent: "build", Message: "msg", Call: "call", Location: s.Location, Fence: fence}
}

// authorise asks in the background; the channel has the outcome.
func (d *office) authorise(ctx context.Context, asker session.Asker, request session.PermissionRequest) <-chan error {
	done := make(chan error, 1)
	go func() { done <- d.Authorise(ctx, asker, request) }()
	return done
}

// asked waits for the n-th open permission request of a session and answers all of
// them; n 0 answers what is open.
func (d *office) asked(id string, n int) []session.Permission {
	d.T.Helper()
	if n > 0 {
		d.Await(id, session.PermissionAsked{}.EventType(), n)
	}
	open, err := d.List(d.T.Context(), id)
	if err != nil {
		d.T.Fatal(err)
	}
	return open
}

func (d *office) reply(id string, reply session.Reply, feedback string) {
	d.T.Helper()
	if _, err := d.Reply(d.T.Context(), session.Origin{Actor: "local:0"}, id, reply, feedback); err != nil {
		d.T.Fatal(err)
	}
}

// events shows the session's events of the types, each as its JSON.
func (d *office) events(id string, of ...session.Payload) []string {
	d.T.Helper()
	page, err := d.Log.Read(d.T.Context(), id, -1, 1000)
	if err != nil {
		d.T.Fatal(err)
	}
	var all []string
	for _, event := range page.Events {
		for _, payload := range of {
			if event.Type == payload.EventType() {
				all = append(all, event.Type+" "+string(event.Data))
			}
		}
	}
	return all
}

func outcomeOf(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("nobody answered")
		return nil
	}
}

func refusal(t *testing.T, err error) *session.DeniedError {
	t.Helper()
	var denied *session.DeniedError
	if !errors.As(err, &denied) {
		t.Fatalf("got %v, want a *DeniedError", err)
	}
	return denied
}

func bash(resources ...string) session.PermissionRequest {
	return session.PermissionRequest{Action: "bash", Resources: resources, Save: resources}
}

// askBash asks for every command.
func askBash() session.Rule {
	return session.Rule{Action: "bash", Resource: "*", Effect: session.Ask}
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	t.Run("rules count in the order default, operator, agent, session", func(t *testing.T) {
		on := func(effect session.Effect) session.Rule {
			return session.Rule{Action: "read", Resource: ".env", Effect: effect}
		}
		d := newOffice(t, []session.Agent{{Name: "build", Mode: session.AgentAll, Rules: []session.Rule{on(session.Allow)}}, {Name: "plain", Mode: session.AgentAll}}, on(session.Deny))
		effect := func(agent string, own ...session.Rule) session.Effect {
			asker := d.asker(d.make("/p", "", own...))
			asker.Agent = agent
			got, err := d.Effects(t.Context(), asker, "", "read", []string{".env"})
			if err != nil {
				t.Fatal(err)
			}
			return got[0]
		}
		got := []session.Effect{effect("plain"), effect("build"), effect("build", on(session.Ask)), effect("plain", on(session.Allow))}
		want := []session.Effect{session.Deny, session.Allow, session.Ask, session.Deny} // a configured deny stays
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	t.Run("replies that do not fit", func(t *testing.T) {
		d := newOffice(t, nil, askBash())
		id := d.make("/p", "")
		d.append(id, session.PermissionAsked{Request: "per_1", Agent: "build", Ask: bash("ls")})
		var texts []string
		for _, c := range []struct {
			id       string
			reply    session.Reply
			feedback string
			want     error
		}{
			{"per_1", session.ReplyWithdrawn, "", session.ErrInvalid}, {"per_1", session.ReplyOnce, "no", session.ErrInvalid},
			{"per_none", session.ReplyOnce, "", session.ErrNotFound}, {"per_1", session.ReplyReject, "", nil}, {"per_1", session.ReplyReject, "", session.ErrResolved},
		} {
			_, err := d.Reply(t.Context(), session.System(), c.id, c.reply, c.feedback)
			if !errors.Is(err, c.want) {
				t.Errorf("%s %s: %v, want %v", c.id, c.reply, err, c.want)
			}
			texts = append(texts, fmt.Sprint(err))
		}
		want := []string{
			`invalid request: reply is "withdrawn"; it must be once, always or reject`,
			`invalid request: a message goes with reject only`,
			`permission request per_none: not found`,
			`<nil>`,
			`reply to permission: permission request per_1: already answered`,
		}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDeniedErrorTexts(t *testing.T) {
	t.Parallel()
	var got []string
	for _, err := range []session.DeniedError{
		{Action: "bash", Resource: "rm x"}, {Action: "bash", Resource: "rm x", Declined: true}, {Action: "bash", Resource: "rm x", Feedback: "keep it"},
		{Action: "question"}, {Action: "question", Declined: true},
	} {
		got = append(got, err.Error())
	}
	want := []string{
		"bash on rm x is denied by the permission rules", "bash on rm x was declined", "bash on rm x was refused: keep it",
		"question is denied by the permission rules", "question was declined",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWaitsThatEnd(t *testing.T) {
	t.Parallel()
	t.Run("the reply that came first stands", func(t *testing.T) {
		d := newOffice(t, nil, askBash())
		id := d.make("/p", "")
		for n := range 20 {
			ctx, stop := context.WithCancelCause(t.Context())
			done := d.authorise(ctx, d.asker(id), bash("ls"))
			d.Await(id, session.PermissionAsked{}.EventType(), n+1)
			request := d.asked(id, 0)[0].Request
			go stop(session.ErrInterrupted)
			_, err := d.Reply(t.Context(), session.System(), request, session.ReplyOnce, "")
			waited := outcomeOf(t, done)
			if err != nil && !errors.Is(err, session.ErrResolved) || err != nil && waited == nil {
				t.Fatalf("reply %v, wait %v", err, waited)
			}
			replies := d.events(id, session.PermissionReplied{})
			if len(replies) != n+1 || strings.Contains(replies[n], `"once"`) != (err == nil) {
				t.Fatalf("reply %v, but %q", err, replies)
			}
		}
	})
}

func TestManyReplies(t *testing.T) {
	t.Parallel()
	d := newOffice(t, nil, askBash())
	id := d.make("/p", "")
	var waits []<-chan error
	for n := range 12 {
		waits = append(waits, d.authorise(t.Context(), d.asker(id), bash(fmt.Sprint("cmd ", n))))
	}
	open := d.asked(id, len(waits))
	var group sync.WaitGroup
	for i, request := range open {
		for _, reply := range []session.Reply{session.ReplyOnce, session.ReplyAlways, session.ReplyReject} {
			group.Go(func() {
				feedback := ""
				if reply == session.ReplyReject && i%2 == 0 {
					feedback = "no"
				}
				if _, err := d.Reply(t.Context(), session.System(), request.Request, reply, feedback); err != nil && !errors.Is(err, session.ErrResolved) {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	for _, wait := range waits {
		var denied *session.DeniedError
		if err := outcomeOf(t, wait); err != nil && !errors.As(err, &denied) {
			t.Error(err)
		}
	}
	if replies := d.events(id, session.PermissionReplied{}); len(replies) != len(waits) {
		t.Errorf("%d replies to %d requests:\n%s", len(replies), len(waits), strings.Join(replies, "\n"))
	}
	if open := d.asked(id, 0); len(open) != 0 {
		t.Errorf("open %+v", open)
	}
}
