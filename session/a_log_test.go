package session_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

func storedVersion(t *testing.T) {
	l := newLogbook(t)
	id := l.begin(0)
	l.write(id, session.ActivityStarted{Activity: "act_1"}, session.TurnStarted{Activity: "act_1", Turn: 1, Attempt: 1, Step: 1})
	event := l.events(id)[2]
	if event.Type != "session.turn.started" || event.Version != 2 || event.Aggregate != id || event.Seq != 2 {
		t.Errorf("stored %s version %d of %s at %d", event.Type, event.Version, event.Aggregate, event.Seq)
	}
	if payload, err := session.Decode(event); err != nil || payload.(session.TurnStarted).Attempt != 1 {
		t.Errorf("read as %+v, %v", payload, err)
	}
}

func locationInPayload(t *testing.T) {
	l := newLogbook(t)
	id := l.id(session.PrefixSession)
	l.write(id, created("/first"), l.note("one"))
	if s, err := l.session(id); err != nil || s.Location.Directory != "/first" {
		t.Errorf("it works in %+v, %v", s.Location, err)
	}
	l.write(id, session.Moved{Location: session.Location{Directory: "/second", Root: "/second"}}, l.note("two"))
	if s, err := l.session(id); err != nil || s.Location.Directory != "/second" {
		t.Errorf("it works in %+v, %v", s.Location, err)
	}
	var told []bool
	for _, event := range l.events(id) {
		told = append(told, strings.Contains(string(event.Data), `"location"`))
	}
	equal(t, "which events tell a Location", []bool{true, false, true, false}, told)
}

func tablesBeforeFollowers(t *testing.T) {
	const events = 50
	l := newLogbook(t)
	id := l.begin(0)
	tail := store.NewTail(l, id, 0)
	defer tail.Close()
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range events {
			if _, err := l.try(id, l.note(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		}
	})
	defer writer.Wait()
	for seen := 0; seen < events; {
		page, err := tail.Next(t.Context(), 3)
		if err != nil {
			t.Fatal(err)
		}
		seen += len(page.Events)
		if rows := len(l.texts(id)); rows < seen {
			t.Fatalf("%d events are seen and %d messages are there", seen, rows)
		}
	}
}

func projectionSequence(t *testing.T) {
	l := newLogbook(t)
	id := l.begin(0)
	const writers = 16
	written := make(chan store.Event, writers)
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			message := l.id(session.PrefixMessage)
			events, err := l.try(id, l.note("before"), session.PromptAdmitted{Message: message, Prompt: session.Prompt{Text: message}, Delivery: session.Steer})
			if err != nil {
				t.Error(err)
				return
			}
			written <- events[1]
		})
	}
	group.Wait()
	close(written)
	bySeq := map[int64]string{} // the message that each event admits
	for event := range written {
		payload, err := session.Decode(event)
		if err != nil {
			t.Fatal(err)
		}
		bySeq[event.Seq] = payload.(session.PromptAdmitted).Message
	}
	err := l.View(t.Context(), func(tx store.Tx) error {
		pending, err := session.LoadPending(t.Context(), tx, id)
		equal(t, "prompts that wait", writers, len(pending))
		for _, input := range pending {
			equal(t, "the event of a row", input.ID, bySeq[input.Admitted])
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// refusedActivity are two starts of an activity, of which the second is refused.
func refusedActivity() []session.Payload {
	return []session.Payload{session.ActivityStarted{Activity: "act_1"}, session.ActivityStarted{Activity: "act_2"}}
}

func projectionRefuses(t *testing.T) {
	l := newLogbook(t)
	id := l.begin(1)
	before := sessiontest.Tables(t, l)
	_, err := l.try(id, append([]session.Payload{l.note("lost")}, refusedActivity()...)...)
	rejected, ok := errors.AsType[*store.RejectedError](err)
	if !ok || rejected.Aggregate != id || !errors.Is(err, session.ErrInvalid) {
		t.Errorf("answered %v", err)
	}
	equal(t, "tables", before, sessiontest.Tables(t, l))
	equal(t, "events", []int64{0, 1}, sequences(l.events(id)))
	equal(t, "the next sequence", []int64{2}, sequences(l.write(id, l.note("kept"))))
}

// failingView is an observer that fails on the events of a type, or on every one.
type failingView struct{ on string }

func (failingView) Name() string { return "broken" }
func (failingView) Migrations() fs.FS {
	return fstest.MapFS{"00001_broken.sql": {Data: []byte("-- +goose Up\nCREATE TABLE broken (id BIGINT PRIMARY KEY);\n")}}
}
func (failingView) Clear(context.Context, store.Tx) error { return nil }
func (v failingView) Apply(ctx context.Context, tx store.Tx, event store.Event) error {
	if v.on != "" && v.on != event.Type {
		return nil
	}
	if _, err := tx.Exec(ctx, `INSERT INTO broken (id) VALUES ($1)`, event.Position); err != nil {
		return err
	}
	return errors.New("a bug in the view")
}
func (failingView) Forget(context.Context, store.Tx, string, int) (bool, error) { return false, nil }

func observerFails(t *testing.T) {
	l := logbookOf(t, sessiontest.OpenStore(t, t.TempDir(), failingView{}))
	idle := l.Watch("") // nobody reads it
	defer idle.Close()
	id := l.id(session.PrefixSession)
	tail := store.NewTail(l, id, -1)
	defer tail.Close()
	l.write(id, created("/work"), l.note("one"))
	l.write(id, l.note("two"))
	equal(t, "followed", []int64{0, 1, 2}, l.follow(tail, 3, 10))
	equal(t, "transcript", []string{"one", "two"}, l.texts(id))
	stale := l.StaleViews()
	if len(stale) != 1 || stale[0].Name != "broken" || !strings.Contains(stale[0].Reason, "a bug in the view") {
		t.Errorf("stale views: %+v", stale)
	}
}

func observerBreaksOff(t *testing.T) {
	l := newLogbook(t)
	id := l.begin(0)
	gone := errors.New("the client went away")
	ctx, cancel := context.WithCancelCause(t.Context())
	leaving, staying := store.NewTail(l, id, 0), store.NewTail(l, id, 0)
	defer leaving.Close()
	defer staying.Close()
	left := make(chan error)
	go func() {
		_, err := leaving.Next(ctx, 10)
		left <- err
	}()
	cancel(gone)
	if err := <-left; !errors.Is(err, gone) {
		t.Errorf("the follower that left was told %v", err)
	}
	l.write(id, l.note("one"))
	equal(t, "followed", []int64{1}, l.follow(staying, 1, 10))
	equal(t, "transcript", []string{"one"}, l.texts(id))
}

func aggregateMissing(t *testing.T) {
	l := newLogbook(t)
	if events, err := l.try("", l.note("nobody's")); err == nil || !strings.Contains(err.Error(), "no aggregate") {
		t.Errorf("without an aggregate: %v, %v", events, err)
	}
	if events, err := l.try(session.Host, l.note("the host's")); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("of the host: %v, %v", events, err)
	}
	if events, err := l.try(l.id(session.PrefixSession), l.note("too early")); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("of a session that was not created: %v, %v", events, err)
	}
	feed, err := l.Feed(t.Context(), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "events of the store", 0, len(feed.Events))
}

func coalescedWakes(t *testing.T) {
	l := newLogbook(t)
	id := l.begin(2)
	tail := store.NewTail(l, id, -1)
	defer tail.Close()
	equal(t, "history", []int64{0}, l.follow(tail, 1, 1))
	for i := range 3 {
		l.write(id, l.note(fmt.Sprint("while it is read ", i)))
	}
	equal(t, "the rest", []int64{1, 2, 3, 4, 5}, l.follow(tail, 5, 2))
	pokes := 0
	for more := true; more; {
		select {
		case <-tail.C():
			pokes++
		default:
			more = false
		}
	}
	equal(t, "wakes that three commits left", 1, pokes)
}

func fragmentsAreNotStored(t *testing.T) {
	w := sessiontest.New(t, sessiontest.Options{})
	reached, open := make(chan struct{}), make(chan struct{})
	w.Provider.Script(sessiontest.Then(sessiontest.Then(sessiontest.Events(sessiontest.Delta("Hel")), sessiontest.Gate(reached, open)),
		sessiontest.Events(sessiontest.Delta("lo"), sessiontest.Finish(session.FinishStop))))
	id := w.Create()
	w.Prompt(id, "Hi", session.Steer)
	<-reached
	live := w.Live.Open(id)
	if len(live) != 1 || live[0].Text != "Hel" {
		t.Errorf("live: %+v", live)
	}
	page, err := w.Log.Read(t.Context(), id, -1, 100)
	if err != nil || strings.Contains(sessiontest.Text(page.Events), "Hel") {
		t.Errorf("stored while it streams: %v\n%s", err, sessiontest.Text(page.Events))
	}
	close(open)
	var texts []string
	for _, event := range w.Settled(id, 1) {
		if strings.Contains(string(event.Data), "Hel") {
			texts = append(texts, event.Type)
		}
	}
	equal(t, "events with the text", []string{"session.text.ended"}, texts)
}

func tombstone(t *testing.T) {
	l := newLogbook(t)
	id, other := l.begin(3), l.begin(1)
	if err := l.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if page, err := l.Read(t.Context(), id, -1, 10); !errors.Is(err, store.ErrDeleted) || len(page.Events) != 0 {
		t.Errorf("read: %d events, %v", len(page.Events), err)
	}
	if _, err := l.session(id); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("the row: %v", err)
	}
	if err := l.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if tables := sessiontest.Tables(t, l); strings.Contains(tables, id) || !strings.Contains(tables, other) {
		t.Errorf("the tables have\n%s", tables)
	}
	if _, err := l.try(id, created("/work")); !errors.Is(err, store.ErrDeleted) {
		t.Errorf("created again: %v", err)
	}
	equal(t, "the other", []int64{0, 1}, sequences(l.events(other)))
}

func slowFollower(t *testing.T) {
	const events = 300
	l := newLogbook(t)
	id := l.begin(0)
	slow, quick := store.NewTail(l, id, 0), store.NewTail(l, id, 0)
	defer slow.Close()
	defer quick.Close()
	var want []int64
	for i := range events {
		l.write(id, l.note(fmt.Sprint(i)))
		want = append(want, int64(i)+1)
		equal(t, "the quick one", want[i:], l.follow(quick, 1, 10))
	}
	equal(t, "the slow one", want, l.follow(slow, events, 7))
}
