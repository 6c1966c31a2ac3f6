package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/store"
)

func testAppend(t *testing.T, h Harness) {
	b := open(t, h)
	first := b.append(t, "ses_a", store.Any(), events(3)...)
	other := b.append(t, "ses_b", store.Any(), event("plain"))
	second := b.append(t, "ses_a", store.Any(), event("plain"))

	for i, e := range append(first, second...) {
		if e.Seq != int64(i) || e.Aggregate != "ses_a" {
			t.Errorf("event %d has sequence %d of %s", i, e.Seq, e.Aggregate)
		}
	}
	if other[0].Seq != 0 {
		t.Errorf("the first event of another aggregate has sequence %d", other[0].Seq)
	}
	all := append(append(append([]store.Event(nil), first...), other...), second...)
	for i := 1; i < len(all); i++ {
		if all[i].Position <= all[i-1].Position || all[0].Position < 1 {
			t.Errorf("positions do not ascend from 1: %d after %d", all[i].Position, all[i-1].Position)
		}
	}
	b.expect(t, "ses_a", append(first, second...))
	feed, err := b.Feed(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(store.Page{Events: all}, feed); diff != "" {
		t.Errorf("feed (-want +got):\n%s", diff)
	}

	t.Run("an event is answered as it is read", func(t *testing.T) {
		e := event("plain")
		e.Time = e.Time.Add(999_999).Local() // below a millisecond
		written := b.append(t, "ses_time", store.Any(), e)
		b.expect(t, "ses_time", written)
	})
	t.Run("large data comes back whole", func(t *testing.T) {
		written := b.append(t, "ses_large", store.Any(), large(16<<10-24), large(17<<10), large(1<<20), event("plain"))
		b.expect(t, "ses_large", written)
		b.reopen(t)
		b.expect(t, "ses_large", written)
	})
	t.Run("the id stays", func(t *testing.T) {
		id := b.ID()
		b.reopen(t)
		if b.ID() != id || id == "" {
			t.Errorf("id %q became %q", id, b.ID())
		}
	})
	t.Run("many at once", func(t *testing.T) { testMany(t, b) })
}

// testMany checks that sequences have no gap when aggregates are written from
// many goroutines.
func testMany(t *testing.T, b *fixture) {
	const writers, aggregates, each = 32, 4, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for range each {
				_, err := b.Append(t.Context(), store.Batch{Aggregate: fmt.Sprint("ses_many_", w%aggregates), Events: events(2)})
				if err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	wg.Wait()
	for a := range aggregates {
		got := b.read(t, fmt.Sprint("ses_many_", a))
		if len(got) != 2*each*writers/aggregates {
			t.Fatalf("%d events", len(got))
		}
		for i, e := range got {
			if e.Seq != int64(i) {
				t.Fatalf("sequence %d at index %d", e.Seq, i)
			}
		}
	}
}

func testModes(t *testing.T, h Harness) {
	b := open(t, h)
	attempt := func(mode store.Mode) ([]store.Event, error) {
		return b.Append(t.Context(), store.Batch{Aggregate: "ses_m", Mode: mode, Events: events(1)})
	}
	steps := []struct {
		name string
		mode store.Mode
		want error
	}{
		{"exactly nothing, new", store.Exactly(-1), nil},
		{"exactly nothing, there", store.Exactly(-1), store.ErrSequence},
		{"exactly ahead", store.Exactly(1), store.ErrSequence},
		{"exactly", store.Exactly(0), nil},
		{"any", store.Any(), nil},
		{"fence 5", store.Fenced(5), nil},
		{"fence 4 after 5", store.Fenced(4), store.ErrFenced},
		{"fence 5 again", store.Fenced(5), nil},
		{"any beside a fence", store.Any(), nil},
		{"exactly beside a fence", store.Exactly(5), nil},
		{"fence 7", store.Fenced(7), nil},
		{"fence 5 after 7", store.Fenced(5), store.ErrFenced},
	}
	var written []store.Event
	for _, step := range steps {
		got, err := attempt(step.mode)
		if !errors.Is(err, step.want) {
			t.Errorf("%s: %v, want %v", step.name, err, step.want)
		}
		if fence, ok := step.mode.Fence(); err == nil && ok && got[0].Fence != fence {
			t.Errorf("%s: the event has fence %d", step.name, got[0].Fence)
		}
		written = append(written, got...)
	}
	b.expect(t, "ses_m", written)
	page, err := b.Read(t.Context(), "ses_m", -1, 1)
	if want := (store.Head{Seq: 7, Fence: 7}); err != nil || page.Head != want {
		t.Errorf("head %+v %v, want %+v", page.Head, err, want)
	}
	t.Run("leases", func(t *testing.T) { testLeases(t, b) })
}

// testLeases: a lease of an earlier opening is fenced by a later one.
func testLeases(t *testing.T, b *fixture) {
	old, err := b.Acquire(t.Context(), "ses_lease")
	if err != nil {
		t.Fatal(err)
	}
	b.append(t, "ses_lease", store.Fenced(old), event("plain"))
	b.reopen(t)
	young, err := b.Acquire(t.Context(), "ses_lease")
	if err != nil || young <= old {
		t.Fatalf("fence %d after %d, %v", young, old, err)
	}
	b.append(t, "ses_lease", store.Fenced(old), event("plain"))
	b.append(t, "ses_lease", store.Fenced(young), event("plain"))
	_, err = b.Append(t.Context(), store.Batch{Aggregate: "ses_lease", Mode: store.Fenced(old), Events: events(1)})
	if !errors.Is(err, store.ErrFenced) {
		t.Errorf("the old lease: %v", err)
	}
}

func testRefused(t *testing.T, h Harness) {
	b := open(t, h)
	known := b.append(t, "ses_known", store.Any(), event("plain"))
	same := event("plain")
	noID, noType, noVersion, noData := event("plain"), event("plain"), event("plain"), event("plain")
	noID.ID, noType.Type, noVersion.Version, noData.Data = "", "", 0, nil
	cases := []struct {
		name      string
		aggregate string
		events    []store.Event
		want      error // nil for any
	}{
		{"no event", "ses_r", nil, nil},
		{"no aggregate", "", events(1), nil},
		{"no id", "ses_r", []store.Event{event("plain"), noID}, nil},
		{"no type", "ses_r", []store.Event{noType}, nil},
		{"no version", "ses_r", []store.Event{noVersion}, nil},
		{"no data", "ses_r", []store.Event{noData}, nil},
		{"too many", "ses_r", events(store.MaxBatch + 1), store.ErrTooLarge},
		{"an id of another aggregate", "ses_r", []store.Event{event("plain"), known[0]}, store.ErrEventExists},
		{"an id twice", "ses_r", []store.Event{same, same}, store.ErrEventExists},
		{"rejected", "ses_r", []store.Event{event("plain"), event("reject")}, errRejected},
	}
	for _, c := range cases {
		written, err := b.Append(t.Context(), store.Batch{Aggregate: c.aggregate, Events: c.events})
		if err == nil || written != nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	b.expect(t, "ses_r", nil)
	if total, _ := b.total(t, "ses_r"); total != -1 {
		t.Errorf("the projection kept %d events of refused batches", total)
	}
	if written := b.append(t, "ses_r", store.Exactly(-1), events(store.MaxBatch)...); len(written) != store.MaxBatch {
		t.Errorf("the largest batch wrote %d", len(written))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Append(ctx, store.Batch{Aggregate: "ses_r", Events: events(1)}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is over: %v", err)
	}
}
