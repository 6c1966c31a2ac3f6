package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// people are the clients of a host that dies and comes back: each follows one session,
// gives it prompts, interrupts it and answers what it asks.
type people struct {
	t      *testing.T
	client *client.Client
	policy session.RecoveryPolicy
	seed   uint64
	events atomic.Int64
	moved  chan struct{} // poked by every event
	quiet  *time.Timer   // ends the test when nothing happens any more

	mu       sync.Mutex
	up       chan struct{} // closed while there is a host
	receipts []protocol.Receipt
	sessions map[string]*audit // what the followers have read
}

func newPeople(t *testing.T, w *world, policy session.RecoveryPolicy, seed uint64) *people {
	t.Helper()
	c, err := client.Dial(t.Context(), client.Options{Address: "unix:" + w.socket(), Name: "people",
		Backoff: client.Backoff{First: 10 * time.Millisecond, Max: 100 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	p := &people{t: t, client: c, policy: policy, seed: seed, moved: make(chan struct{}, 1), up: make(chan struct{}), sessions: map[string]*audit{}}
	close(p.up)
	return p
}

// away says that there is no host, back that there is one again.
func (p *people) away() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.up = make(chan struct{})
}

func (p *people) back() { close(p.up) }

// insist makes a request until a host has answered it.
func (p *people) insist(ctx context.Context, request func() error) error {
	for {
		err := request()
		var wire *protocol.Error
		if !errors.As(err, &wire) || !wire.Retryable {
			return err
		}
		p.mu.Lock()
		up := p.up
		p.mu.Unlock()
		select {
		case <-up:
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// person follows one session.
type person struct {
	*people
	random   *rand.Rand
	id       string
	name     string
	audit    *audit
	prompts  int   // still to be sent
	next     int   // after so many events
	stop     int   // to be interrupted after so many events; 0 for never
	through  int64 // the newest event that a receipt tells of
	stopped  bool  // the activity was interrupted, however it ends
	newest   []string
	thinking sync.WaitGroup
}

func (p *people) person(ctx context.Context, number int, directory string) error {
	random := rand.New(rand.NewPCG(p.seed, uint64(number)))
	one := &person{people: p, random: random, name: fmt.Sprint("person", number), prompts: 2 + random.IntN(3)}
	if random.IntN(5) == 0 {
		one.stop = 5 + random.IntN(60)
	}
	err := p.insist(ctx, func() error {
		created, err := p.client.CreateSession(ctx, protocol.CreateSession{Location: protocol.Location{Directory: directory}})
		one.id = created.ID
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: create: %w", one.name, err)
	}
	err = one.work(ctx)
	one.thinking.Wait()
	if err != nil {
		return fmt.Errorf("%s: %s at activity %q suspended by %q with %v pending, asked %v, of children %v, %d tasks, behind %s: %w", one.name, one.id,
			one.audit.activity, one.audit.suspended, one.audit.pending(), one.audit.openAsks(), one.audit.told, len(one.audit.tasks),
			strings.Join(one.newest, ", "), err)
	}
	return nil
}

// work goes on until all is said and the session is at rest.
func (one *person) work(ctx context.Context) error {
	one.audit = one.read(one.id)
	if err := one.prompt(ctx); err != nil {
		return err
	}
	for update, err := range one.client.Follow(ctx, one.id, client.FollowOptions{}) {
		if err != nil {
			return err
		}
		if update.Event != nil {
			if err := one.event(ctx, *update.Event); err != nil {
				return err
			}
		}
		rest := one.audit.rest() && len(one.audit.admitted) > 0
		if one.prompts > 0 && (rest || len(one.audit.ids) >= one.next) {
			if err := one.prompt(ctx); err != nil {
				return err
			}
			continue
		}
		if rest && one.sent() {
			return nil
		}
	}
	return errors.New("the stream ended")
}

// read is what the followers have read of a session.
func (p *people) read(id string) *audit {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sessions[id] == nil {
		p.sessions[id] = newAudit(id, p.policy)
	}
	return p.sessions[id]
}

// sent reports whether everything has been said and has come back as an event.
func (one *person) sent() bool { return one.prompts == 0 && int64(len(one.audit.ids)) > one.through }

// prompt gives the session another prompt.
func (one *person) prompt(ctx context.Context) error {
	one.prompts--
	one.next = len(one.audit.ids) + 1 + one.random.IntN(30)
	prompt := protocol.Prompt{ID: one.client.NewMessageID(), Delivery: protocol.Steer}
	if one.random.IntN(2) == 0 {
		prompt.Delivery = protocol.Queue
	}
	prompt.Text = fmt.Sprintf("[%s] with %d more to come", one.name, one.prompts)
	prompt.Model = &protocol.ModelRef{Provider: "local", Model: "test"}
	if len(one.audit.admitted) > 0 && one.random.IntN(6) == 0 {
		prompt.Model = &protocol.ModelRef{Provider: "offline", Model: "rules"}
		prompt.Text = []string{"count 50", "read notes.txt", "read guarded.txt"}[one.random.IntN(3)]
	}
	return one.insist(ctx, func() error {
		receipt, err := one.client.Prompt(ctx, one.id, prompt)
		if err == nil {
			one.through = max(one.through, receipt.AdmittedSeq)
			one.mu.Lock()
			one.receipts = append(one.receipts, receipt)
			one.mu.Unlock()
		}
		return err
	})
}

// event reads one, and reacts to it.
func (one *person) event(ctx context.Context, event protocol.Event) error {
	one.audit.take(store.Event{ID: event.ID, Aggregate: event.Session, Seq: event.Seq, Type: event.Type, Version: event.Version, Time: event.Time, Data: event.Data})
	one.newest = append(one.newest[max(0, len(one.newest)-15):], fmt.Sprintf("%d %s", event.Seq, event.Type))
	one.events.Add(1)
	one.quiet.Reset(patience)
	select {
	case one.moved <- struct{}{}:
	default:
	}
	if one.stop > 0 && len(one.audit.ids) >= one.stop {
		one.stop = 0
		return one.insist(ctx, func() error { _, err := one.client.Interrupt(ctx, one.id); return err })
	}
	switch e := one.audit.previous.(type) {
	case session.PermissionAsked:
		one.decide(ctx, e.Request)
	case session.QuestionAsked:
		one.decide(ctx, e.Request)
	case session.ChildAsked:
		one.decide(ctx, e.Request)
	case session.ActivityStarted:
		one.stopped = false
	case session.ActivityEnded:
		if e.Outcome != session.Completed || one.stopped {
			return one.resume(ctx)
		}
	case session.InterruptRequested:
		one.stopped = true
		if one.audit.activity == "" {
			return one.resume(ctx)
		}
	}
	return nil
}

// resume goes on with what an end has left waiting.
func (one *person) resume(ctx context.Context) error {
	if len(one.audit.pending()) == 0 {
		return nil
	}
	return one.insist(ctx, func() error {
		receipt, err := one.client.Resume(ctx, one.id)
		if err == nil && receipt.Seq != nil {
			one.through = max(one.through, *receipt.Seq)
		}
		return err
	})
}

// decide answers a request after some thought.
func (one *person) decide(ctx context.Context, request string) {
	thought := time.Duration(one.random.IntN(300)) * time.Millisecond
	kind := one.random.IntN(10)
	one.thinking.Go(func() {
		timer := time.NewTimer(thought)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		err := one.insist(ctx, func() error { return one.answer(ctx, request, kind) })
		var wire *protocol.Error
		if errors.As(err, &wire) && (wire.Code == protocol.AlreadyResolved || wire.Code == protocol.NotFound) {
			return
		}
		if err != nil && ctx.Err() == nil {
			one.t.Errorf("answer %s: %v", request, err)
		}
	})
}

func (one *person) answer(ctx context.Context, request string, kind int) (err error) {
	switch {
	case strings.HasPrefix(request, session.PrefixQuestion) && kind < 8:
		_, err = one.client.Answer(ctx, request, protocol.QuestionAnswer{Answers: [][]string{{"this"}}})
	case strings.HasPrefix(request, session.PrefixQuestion):
		_, err = one.client.Dismiss(ctx, request)
	case kind < 6:
		_, err = one.client.Reply(ctx, request, protocol.PermissionReply{Reply: protocol.AnswerOnce})
	case kind < 8:
		_, err = one.client.Reply(ctx, request, protocol.PermissionReply{Reply: protocol.AnswerReject, Message: "not like this"})
	default:
		_, err = one.client.Reply(ctx, request, protocol.PermissionReply{Reply: protocol.AnswerReject})
	}
	return err
}

// children follows the sessions under others until they are at rest too.
func (p *people) children(ctx context.Context) error {
	var all []string
	for _, one := range p.sessions {
		for _, task := range one.given {
			all = append(all, task.Session)
		}
	}
	for _, id := range all {
		read := p.read(id)
		for update, err := range p.client.Follow(ctx, id, client.FollowOptions{}) {
			var wire *protocol.Error
			if errors.As(err, &wire) && wire.Code == protocol.NotFound {
				break // the host died before it was made
			}
			if err != nil {
				return fmt.Errorf("child %s at activity %q suspended by %q with %v pending, asked %v: %w", id, read.activity, read.suspended,
					read.pending(), read.openAsks(), err)
			}
			if e := update.Event; e != nil {
				read.take(store.Event{ID: e.ID, Aggregate: e.Session, Seq: e.Seq, Type: e.Type, Version: e.Version, Time: e.Time, Data: e.Data})
			}
			if update.Live && read.rest() {
				break
			}
		}
	}
	return nil
}
