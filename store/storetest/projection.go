package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/plinthhost/plinth/store"
)

func testProjection(t *testing.T, h Harness) {
	b := open(t, h)
	t.Run("a rejection leaves nothing and harms nobody", func(t *testing.T) {
		var batches []store.Batch
		for i := range 9 {
			kind := "plain"
			if i%3 == 1 {
				kind = "reject"
			}
			batches = append(batches, store.Batch{Aggregate: fmt.Sprint("ses_", i), Events: []store.Event{event("plain"), event(kind)}})
		}
		for i, o := range b.burst(t, batches...) {
			var rejected *store.RejectedError
			switch {
			case i%3 != 1 && o.err != nil:
				t.Errorf("neighbour %d: %v", i, o.err)
			case i%3 == 1 && (!errors.As(o.err, &rejected) || rejected.Type != "reject" || !errors.Is(o.err, errRejected)):
				t.Errorf("%d: %v, want a RejectedError", i, o.err)
			}
			b.expect(t, fmt.Sprint("ses_", i), o.events)
		}
	})
	t.Run("the sequence of a rejected event is used again", func(t *testing.T) {
		if written := b.append(t, "ses_1", store.Exactly(-1), event("plain")); written[0].Seq != 0 {
			t.Errorf("sequence %d", written[0].Seq)
		}
	})
	t.Run("one group keeps its order", func(t *testing.T) {
		var batches []store.Batch
		for i := range 8 {
			batches = append(batches, store.Batch{Aggregate: "ses_order", Mode: store.Exactly(int64(i) - 1), Events: events(1)})
		}
		for i, o := range b.burst(t, batches...) {
			if o.err != nil {
				t.Errorf("%d: %v", i, o.err)
			}
		}
	})
}

// testLost: a projection whose statement ends the whole transaction harms no
// neighbour, before it or after it.
func testLost(t *testing.T, h Harness) {
	for _, statement := range h.Lose {
		for _, kind := range []string{"lose", "swallow"} {
			t.Run(statement+" "+kind, func(t *testing.T) {
				b := open(t, h)
				b.tally.lose.Store(statement)
				plain := func(name string) store.Batch { return store.Batch{Aggregate: name, Events: events(2)} }
				outcomes := b.burst(t,
					plain("ses_0"),
					store.Batch{Aggregate: "ses_1", Events: []store.Event{event("plain"), event(kind)}},
					plain("ses_2"),
					store.Batch{Aggregate: "ses_3", Events: []store.Event{event("reject")}},
					store.Batch{Aggregate: "ses_4", Events: []store.Event{event(kind)}},
					plain("ses_5"))
				for i, o := range outcomes {
					culprit := i == 1 || i == 3 || i == 4
					if (o.err != nil) != culprit {
						t.Errorf("%d: %v", i, o.err)
					}
					if total, _ := b.total(t, fmt.Sprint("ses_", i)); culprit && total != -1 {
						t.Errorf("%d: the projection kept %d of its events", i, total)
					}
					b.expect(t, fmt.Sprint("ses_", i), o.events)
				}
			})
		}
	}
}

func testCancel(t *testing.T, h Harness) {
	t.Run("in the queue", func(t *testing.T) {
		b := open(t, h)
		var holder sync.WaitGroup
		holder.Go(func() { b.append(t, "holder", store.Any(), event("hold")) })
		held := <-b.tally.holds
		inner, cancel := context.WithCancelCause(t.Context())
		ctx := watch(inner)
		answer := make(chan error)
		go func() {
			_, err := b.Append(ctx, store.Batch{Aggregate: "ses_a", Events: events(1)})
			answer <- err
		}()
		<-ctx.asked
		gone := errors.New("the client is gone")
		cancel(gone)
		if err := <-answer; !errors.Is(err, context.Canceled) || !errors.Is(err, gone) {
			t.Errorf("answered %v", err)
		}
		close(held.release)
		holder.Wait()
		b.append(t, "ses_b", store.Any(), event("plain"))
		b.expect(t, "ses_a", nil)
	})
	t.Run("while it is written", func(t *testing.T) {
		b := open(t, h)
		ctx, cancel := context.WithCancel(t.Context())
		written := make(chan outcome)
		go func() {
			events, err := b.Append(ctx, store.Batch{Aggregate: "ses_a", Events: []store.Event{event("plain"), event("hold")}})
			written <- outcome{events, err}
		}()
		held := <-b.tally.holds
		cancel()
		close(held.release)
		o := <-written
		if o.err != nil {
			t.Fatalf("answered %v", o.err)
		}
		b.expect(t, "ses_a", o.events)
	})
	t.Run("beside others", func(t *testing.T) { testCancelBeside(t, open(t, h)) })
}

// testCancelBeside cancels one of several appends that are written together.
func testCancelBeside(t *testing.T, b *fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	outcomes := make([]outcome, 4)
	var done sync.WaitGroup
	done.Go(func() { b.append(t, "holder", store.Any(), event("hold")) })
	first := <-b.tally.holds
	for i := range outcomes {
		kind, parent := "plain", t.Context()
		if i == 1 {
			kind, parent = "hold", ctx
		}
		observed := watch(parent)
		done.Go(func() {
			outcomes[i].events, outcomes[i].err = b.Append(observed,
				store.Batch{Aggregate: fmt.Sprint("ses_", i), Events: []store.Event{event(kind)}})
		})
		<-observed.asked
	}
	close(first.release)
	second := <-b.tally.holds
	cancel()
	close(second.release)
	done.Wait()
	for i, o := range outcomes {
		if o.err != nil {
			t.Errorf("%d: %v", i, o.err)
		}
		b.expect(t, fmt.Sprint("ses_", i), o.events)
	}
}
