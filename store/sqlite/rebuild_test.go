package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/plinthhost/plinth/store"
)

// TestRebuildBesideAppend: an append that was queued right behind a step of the
// rebuild reaches the view once, at its beginning as at its end.
func TestRebuildBesideAppend(t *testing.T) {
	gate := &gateProjection{entered: make(chan chan struct{})}
	view := newTallyView("tally")
	options := viewOptions(t.TempDir(), view)
	options.Projections = append(options.Projections, gate)
	s := mustOpen(t, options)
	appendEvents(t, s, "ses_a", 3)

	var wg sync.WaitGroup
	held := newEvent()
	held.Type = "test.held"
	wg.Go(func() {
		if _, err := s.Append(t.Context(), store.Batch{Aggregate: "ses_held", Events: []store.Event{held}}); err != nil {
			t.Errorf("append: %v", err)
		}
	})
	release := <-gate.entered
	rebuild := observe(t.Context())
	wg.Go(func() {
		if err := s.RebuildView(rebuild, "tally"); err != nil {
			t.Errorf("rebuild: %v", err)
		}
	})
	<-rebuild.waiting
	beside := observe(t.Context())
	wg.Go(func() {
		if _, err := s.Append(beside, store.Batch{Aggregate: "ses_b", Events: []store.Event{newEvent()}}); err != nil {
			t.Errorf("append: %v", err)
		}
	})
	<-beside.waiting
	close(release)
	wg.Wait()
	expectStale(t, s)
	expectView(t, s, "tally", map[string]int{"ses_a": 3, "ses_b": 1, "ses_held": 1})
}

// gateProjection holds events of type "test.held".
type gateProjection struct{ entered chan chan struct{} }

func (g *gateProjection) Apply(_ context.Context, _ store.Tx, e store.Event) error {
	if e.Type == "test.held" {
		release := make(chan struct{})
		g.entered <- release
		<-release
	}
	return nil
}

func (g *gateProjection) Forget(context.Context, store.Tx, string, int) (bool, error) {
	return false, nil
}

// observed is a context that tells when somebody waits for it.
type observed struct {
	context.Context
	once    *sync.Once
	waiting chan struct{}
}

func observe(ctx context.Context) observed {
	return observed{Context: ctx, once: new(sync.Once), waiting: make(chan struct{})}
}

func (o observed) Done() <-chan struct{} {
	o.once.Do(func() { close(o.waiting) })
	return o.Context.Done()
}

// TestRebuild rebuilds a view while others append and delete: in the end it has
// every event once.
func TestRebuild(t *testing.T) {
	view := newTallyView("tally")
	view.fail = func(_ context.Context, _ store.Tx, e store.Event) error {
		if e.Type == "test.bad" {
			return errors.New("own")
		}
		return nil
	}
	s := mustOpen(t, viewOptions(t.TempDir(), view))
	want := make(map[string]int)
	for i := range 20 {
		name := fmt.Sprint("ses_", i%5)
		appendEvents(t, s, name, 60)
		want[name] += 60
	}
	bad := newEvent()
	bad.Type = "test.bad"
	if _, err := s.Append(t.Context(), store.Batch{Aggregate: "ses_bad", Events: []store.Event{bad}}); err != nil {
		t.Fatal(err)
	}
	if err := s.RebuildView(t.Context(), "tally"); err == nil {
		t.Error("a rebuild that fails succeeded")
	}
	expectStale(t, s, "tally")
	if err := s.Delete(t.Context(), "ses_bad"); err != nil {
		t.Fatal(err)
	}

	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for range 40 {
				if _, err := s.Append(t.Context(), store.Batch{Aggregate: fmt.Sprint("ses_", w), Events: []store.Event{newEvent()}}); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
		want[fmt.Sprint("ses_", w)] += 40
	}
	wg.Go(func() {
		if err := s.Delete(t.Context(), "ses_4"); err != nil {
			t.Errorf("delete: %v", err)
		}
	})
	delete(want, "ses_4")
	for range 2 {
		wg.Go(func() {
			if err := s.RebuildView(t.Context(), "tally"); err != nil {
				t.Errorf("rebuild: %v", err)
			}
		})
	}
	wg.Wait()
	expectStale(t, s)
	expectView(t, s, "tally", want)
	appendEvents(t, s, "ses_0", 1)
	want["ses_0"]++
	expectView(t, s, "tally", want)
}
