package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/plinthhost/plinth/store"
)

func testDelete(t *testing.T, h Harness) {
	b := open(t, h)
	b.append(t, "ses_keep", store.Any(), event("plain"))
	gone := b.append(t, "ses_gone", store.Any(), events(3)...)
	for range 2 {
		if err := b.Delete(t.Context(), "ses_gone"); err != nil {
			t.Fatal(err)
		}
	}
	if total, _ := b.total(t, "ses_gone"); total != -1 {
		t.Errorf("the projection still has %d events", total)
	}
	check := func() {
		t.Helper()
		if _, err := b.Read(t.Context(), "ses_gone", -1, 1); !errors.Is(err, store.ErrDeleted) {
			t.Errorf("read: %v", err)
		}
		for _, mode := range []store.Mode{store.Any(), store.Exactly(-1), store.Exactly(2), store.Fenced(99)} {
			_, err := b.Append(t.Context(), store.Batch{Aggregate: "ses_gone", Mode: mode, Events: events(1)})
			if !errors.Is(err, store.ErrDeleted) {
				t.Errorf("append: %v", err)
			}
		}
	}
	check()
	b.reopen(t)
	check()
	if written := b.append(t, "ses_keep", store.Exactly(0), event("plain")); written[0].Position <= gone[2].Position {
		t.Errorf("position %d was used before: the last was %d", written[0].Position, gone[2].Position)
	}
	page, err := b.Feed(t.Context(), 0, 10)
	if err != nil || len(page.Events) != 2 {
		t.Errorf("the feed has %d events, %v", len(page.Events), err)
	}
	if err := b.Delete(t.Context(), "ses_never"); err != nil {
		t.Errorf("delete an unknown aggregate: %v", err)
	}
	if _, err := b.Append(t.Context(), store.Batch{Aggregate: "ses_never", Events: events(1)}); !errors.Is(err, store.ErrDeleted) {
		t.Errorf("append to an id that was deleted unused: %v", err)
	}
}

// testFull: a full database refuses what needs room, keeps what it acknowledged
// and goes on when there is room again.
func testFull(t *testing.T, h Harness) {
	b := open(t, h)
	before := b.append(t, "ses_before", store.Any(), events(3)...)
	free := b.Fill(t)
	full := 0
	for try := 0; full == 0; try++ {
		if try == 200 {
			t.Fatal("the database takes everything: it is not full")
		}
		var batches []store.Batch
		for i := range 8 {
			batches = append(batches, store.Batch{Aggregate: fmt.Sprintf("ses_%d_%d", try, i), Events: []store.Event{large(12 << 10)}})
		}
		for i, o := range b.burstLarge(t, batches) {
			switch {
			case errors.Is(o.err, store.ErrFull):
				full++
				if _, ok := errors.AsType[*store.RejectedError](o.err); ok {
					t.Errorf("a full disk looks like a rejection: %v", o.err)
				}
			case o.err != nil:
				t.Fatalf("%d: %v, want ErrFull", i, o.err)
			}
			b.expect(t, batches[i].Aggregate, o.events)
		}
	}
	b.expect(t, "ses_before", before)
	free()
	b.append(t, "ses_after", store.Any(), large(12<<10))
	b.reopen(t)
	b.expect(t, "ses_before", before)
}

// burstLarge appends the batches at the same time without holding the log, which
// a full database could not do.
func (b *fixture) burstLarge(t *testing.T, batches []store.Batch) []outcome {
	outcomes := make([]outcome, len(batches))
	var done sync.WaitGroup
	for i, batch := range batches {
		done.Go(func() { outcomes[i].events, outcomes[i].err = b.Append(t.Context(), batch) })
	}
	done.Wait()
	return outcomes
}

func testClose(t *testing.T, h Harness) {
	b := open(t, h)
	var done sync.WaitGroup
	outcomes := make([]outcome, 16)
	started := make(chan struct{}, len(outcomes))
	for i := range outcomes {
		done.Go(func() {
			started <- struct{}{}
			outcomes[i].events, outcomes[i].err = b.Append(t.Context(), store.Batch{Aggregate: fmt.Sprint("ses_", i), Events: events(1)})
		})
	}
	for range outcomes {
		<-started
	}
	wake := b.Watch("ses_quiet")
	defer wake.Close()
	for range 2 {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	done.Wait()
	<-wake.C() // a follower must come to see that the log is closed
	ctx := t.Context()
	calls := map[string]error{
		"replay": b.Replay(ctx, recorded("ses_r", 0, 1), store.ReplayOptions{}),
		"delete": b.Delete(ctx, "ses_0"),
		"view":   b.View(ctx, func(store.Tx) error { return nil }),
		"set":    b.KV.Set(ctx, "n", "k", nil),
	}
	_, calls["append"] = b.Append(ctx, store.Batch{Aggregate: "ses_0", Events: events(1)})
	_, calls["read"] = b.Read(ctx, "ses_0", -1, 1)
	_, calls["feed"] = b.Feed(ctx, 0, 1)
	_, calls["acquire"] = b.Acquire(ctx, "ses_0")
	_, calls["put"] = b.Blobs.Put(ctx, []byte("x"))
	for name, err := range calls {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s after close: %v", name, err)
		}
	}
	b.reopen(t)
	for i, o := range outcomes {
		if o.err != nil && !errors.Is(o.err, store.ErrClosed) {
			t.Errorf("%d: %v", i, o.err)
		}
		b.expect(t, fmt.Sprint("ses_", i), o.events)
	}
}
