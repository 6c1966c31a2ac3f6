package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plinthhost/plinth/store"
)

// rows answers how many rows the projection has of an aggregate.
func (b *fixture) rows(t *testing.T, aggregate string) (n int) {
	t.Helper()
	err := b.View(t.Context(), func(tx store.Tx) error {
		return tx.QueryRow(t.Context(), `SELECT count(*) FROM storetest_row WHERE aggregate = $1`, aggregate).Scan(&n)
	})
	if err != nil {
		t.Fatalf("view: %v", err)
	}
	return n
}

// purged waits until nothing is left to remove.
func (b *fixture) purged(t *testing.T) {
	t.Helper()
	if err := b.Purge(t.Context()); err != nil {
		t.Fatalf("purge: %v", err)
	}
	if left, err := b.Remains(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("after the purge %+v is left, %v", left, err)
	}
}

// testPurge: what is deleted is invisible at once and gone in the end, whoever removes
// it, and its neighbours are as they were.
func testPurge(t *testing.T, h Harness) {
	b := open(t, h)
	const many = 3000
	kept := b.append(t, "ses_keep", store.Any(), event("plain"))
	for _, name := range []string{"ses_a", "ses_b"} {
		b.append(t, name, store.Any(), events(many)...)
	}
	kept = append(kept, b.append(t, "ses_keep", store.Any(), large(20<<10))...)
	if err := b.Delete(t.Context(), "ses_a", "ses_b", "ses_never"); err != nil {
		t.Fatal(err)
	}
	gone := func() {
		t.Helper()
		for _, name := range []string{"ses_a", "ses_b", "ses_never"} {
			if _, err := b.Read(t.Context(), name, -1, 1); !errors.Is(err, store.ErrDeleted) {
				t.Errorf("read %s: %v", name, err)
			}
		}
		page, err := b.Feed(t.Context(), 0, 10)
		if diff := cmp.Diff(kept, page.Events, wholeData); diff != "" || err != nil {
			t.Errorf("feed: %v\n%s", err, diff)
		}
	}
	gone()
	if total, _ := b.total(t, "ses_a"); total != -1 {
		t.Errorf("the projection still shows %d events", total)
	}
	remains, err := b.Remains(t.Context())
	for _, remain := range remains { // as many as are left by now
		if err != nil || !remain.Deleted || remain.Events > many {
			t.Errorf("remains %+v, %v", remain, err)
		}
	}
	b.reopen(t) // the next opening goes on
	gone()
	b.purged(t)
	gone()
	for _, name := range []string{"ses_a", "ses_b"} {
		if n := b.rows(t, name); n != 0 {
			t.Errorf("the projection has %d rows of %s", n, name)
		}
	}
	b.expect(t, "ses_keep", kept)
	if err := b.Delete(t.Context(), make([]string, store.MaxDelete+1)...); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("more than MaxDelete: %v", err)
	}
	if err := b.Delete(t.Context(), "ses_keep", ""); err == nil {
		t.Error("an aggregate without a name was deleted")
	}
	b.expect(t, "ses_keep", kept)
	b.append(t, "ses_keep", store.Exactly(1), event("plain"))
}

// testPrune: the low-water mark rises and never sinks, nobody reads below it, and the
// rest is as it was.
func testPrune(t *testing.T, h Harness) {
	b := open(t, h)
	const many = 2500
	history := b.append(t, "ses_a", store.Fenced(4), events(many)...)
	other := b.append(t, "ses_b", store.Any(), event("plain"))
	first := int64(0)
	check := func() {
		t.Helper()
		for _, after := range []int64{-1, first - 2} {
			if first == 0 {
				break
			}
			page, err := b.Read(t.Context(), "ses_a", after, 5)
			if !errors.Is(err, store.ErrPruned) || page.Head.First != first || len(page.Events) != 0 {
				t.Errorf("read after %d: %+v, %v", after, page.Head, err)
			}
		}
		page, err := b.Read(t.Context(), "ses_a", first-1, many)
		if diff := cmp.Diff(history[first:], page.Events); diff != "" || err != nil {
			t.Errorf("read: %v\n%s", err, diff)
		}
		if want := (store.Head{Seq: many - 1, First: first, Fence: 4}); page.Head != want {
			t.Errorf("head %+v, want %+v", page.Head, want)
		}
		feed, err := b.Feed(t.Context(), 0, many+1)
		if diff := cmp.Diff(append(append([]store.Event(nil), history[first:]...), other...), feed.Events); diff != "" || err != nil {
			t.Errorf("feed: %v\n%s", err, diff)
		}
	}
	for _, seq := range []int64{0, 2000, 2000, 7, many - 1} {
		wake := b.Watch("ses_a")
		if err := b.Prune(t.Context(), "ses_a", seq); err != nil {
			t.Fatalf("prune to %d: %v", seq, err)
		}
		<-wake.C()
		wake.Close()
		first = max(first, seq)
		check()
	}
	b.reopen(t)
	check()
	b.purged(t)
	check()
	if n := b.rows(t, "ses_a"); n != many {
		t.Errorf("the projection has %d rows of %d: a pruning is none of its business", n, many)
	}
	for name, seq := range map[string]int64{"ses_a": many, "ses_unknown": 0} {
		if err := b.Prune(t.Context(), name, seq); !errors.Is(err, store.ErrSequence) {
			t.Errorf("prune %s to %d: %v", name, seq, err)
		}
	}
	written := b.append(t, "ses_a", store.Exactly(many-1), event("plain"))
	if written[0].Seq != many || written[0].Position <= other[0].Position {
		t.Errorf("the next event is %+v", written[0])
	}
	if err := b.Delete(t.Context(), "ses_a"); err != nil {
		t.Fatal(err)
	}
	if err := b.Prune(t.Context(), "ses_a", 1); !errors.Is(err, store.ErrDeleted) {
		t.Errorf("prune a tombstone: %v", err)
	}
	b.purged(t)
	testReplayFrom(t, b)
}

// testReplayFrom: a log that was pruned where it comes from begins where it began there.
func testReplayFrom(t *testing.T, b *fixture) {
	history := recorded("ses_from", 40, 4)
	replay := func(events []store.Event, from int64) error {
		return b.Replay(t.Context(), events, store.ReplayOptions{From: from})
	}
	for _, from := range []int64{0, 39, 41, 43} {
		if err := replay(history, from); !isReplayError(err) {
			t.Errorf("from %d: %v", from, err)
		}
	}
	for _, chunk := range [][]store.Event{history[:2], history[:2], history[1:3], history[2:]} {
		if err := replay(chunk, 40); err != nil {
			t.Fatal(err)
		}
	}
	page, err := b.Read(t.Context(), "ses_from", 39, 10)
	if diff := cmp.Diff(history, page.Events, cmpopts.IgnoreFields(store.Event{}, "Position")); diff != "" || err != nil {
		t.Errorf("events: %v\n%s", err, diff)
	}
	if want := (store.Head{Seq: 43, First: 40}); page.Head != want {
		t.Errorf("head %+v, want %+v", page.Head, want)
	}
	if _, err := b.Read(t.Context(), "ses_from", -1, 10); !errors.Is(err, store.ErrPruned) {
		t.Errorf("read from the beginning: %v", err)
	}
	if err := replay(recorded("ses_from", 50, 1), 50); !isReplayError(err) {
		t.Errorf("a gap behind it: %v", err)
	}
	b.append(t, "ses_from", store.Exactly(43), event("plain"))
}

func isReplayError(err error) bool {
	_, ok := errors.AsType[*store.ReplayError](err)
	return ok
}

// testBury: tombstones go when they are old enough and not before, and no other row does.
func testBury(t *testing.T, h Harness) {
	b := open(t, h)
	kept := b.append(t, "ses_keep", store.Any(), event("plain"))
	var names []string
	for i := range 600 {
		names = append(names, fmt.Sprint("ses_", i))
	}
	last := b.append(t, "ses_0", store.Any(), events(3)...)
	if err := b.Delete(t.Context(), names...); err != nil {
		t.Fatal(err)
	}
	b.purged(t)
	if n, err := b.Bury(t.Context(), time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("%d young tombstones were buried, %v", n, err)
	}
	if _, err := b.Read(t.Context(), "ses_0", -1, 1); !errors.Is(err, store.ErrDeleted) {
		t.Errorf("read: %v", err)
	}
	if n, err := b.Bury(t.Context(), time.Now().Add(time.Hour)); n != len(names) || err != nil {
		t.Errorf("%d tombstones were buried, %v", n, err)
	}
	b.reopen(t)
	b.expect(t, "ses_keep", kept)
	if written := b.append(t, "ses_0", store.Exactly(-1), event("plain")); written[0].Position <= last[2].Position {
		t.Errorf("position %d was used before: the last was %d", written[0].Position, last[2].Position)
	}
}
