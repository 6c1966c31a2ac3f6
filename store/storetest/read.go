package storetest

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/store"
)

func testRead(t *testing.T, h Harness) {
	b := open(t, h)
	written := b.append(t, "ses_a", store.Any(), events(5)...)
	b.append(t, "ses_b", store.Any(), events(1)...)
	head := store.Head{Seq: 4}
	cases := []struct {
		name  string
		after int64
		limit int
		want  store.Page
	}{
		{"all", -1, 5, store.Page{Events: written, Head: head}},
		{"more room than events", -1, 9, store.Page{Events: written, Head: head}},
		{"the largest limit", -1, math.MaxInt, store.Page{Events: written, Head: head}},
		{"from before the first", -7, 9, store.Page{Events: written, Head: head}},
		{"a part", -1, 2, store.Page{Events: written[:2], More: true, Head: head}},
		{"the middle", 1, 2, store.Page{Events: written[2:4], More: true, Head: head}},
		{"the rest", 3, 2, store.Page{Events: written[4:], Head: head}},
		{"nothing new", 4, 2, store.Page{Head: head}},
		{"beyond", 40, 2, store.Page{Head: head}},
		{"no room", -1, 0, store.Page{More: true, Head: head}},
	}
	for _, c := range cases {
		page, err := b.Read(t.Context(), "ses_a", c.after, c.limit)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, page); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	page, err := b.Read(t.Context(), "ses_unknown", -1, 5)
	if diff := cmp.Diff(store.Page{Head: store.Head{Seq: -1}}, page); diff != "" || err != nil {
		t.Errorf("unknown aggregate: %v\n%s", err, diff)
	}
	page, err = b.Feed(t.Context(), written[1].Position, 2)
	if diff := cmp.Diff(store.Page{Events: written[2:4], More: true}, page); diff != "" || err != nil {
		t.Errorf("feed: %v\n%s", err, diff)
	}
	testSnapshot(t, b)
}

// testSnapshot: a view sees one instant, and cannot write.
func testSnapshot(t *testing.T, b *fixture) {
	const count = `SELECT coalesce(sum(total), 0) FROM storetest_tally`
	err := b.View(t.Context(), func(tx store.Tx) error {
		var before, after int64
		if err := tx.QueryRow(t.Context(), count).Scan(&before); err != nil {
			return err
		}
		b.append(t, "ses_c", store.Any(), event("plain"))
		if err := tx.QueryRow(t.Context(), count).Scan(&after); err != nil {
			return err
		}
		if before != 6 || after != before {
			t.Errorf("the snapshot changed from %d to %d", before, after)
		}
		if _, err := tx.Exec(t.Context(), `DELETE FROM storetest_tally`); err == nil {
			t.Error("a view could write")
		}
		return nil
	})
	if err != nil {
		t.Errorf("view: %v", err)
	}
	own := errors.New("own")
	if err := b.View(t.Context(), func(store.Tx) error { return own }); !errors.Is(err, own) {
		t.Errorf("view answered %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Read(ctx, "ses_a", -1, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("read with a context that is over: %v", err)
	}
}

func testTail(t *testing.T, h Harness) {
	t.Run("history then news", func(t *testing.T) {
		b := open(t, h)
		b.append(t, "ses_a", store.Any(), events(5)...)
		tail := store.NewTail(b, "ses_a", 2)
		defer tail.Close()
		expectTail(t, tail, 3, 4)
		b.append(t, "ses_a", store.Any(), event("plain"))
		b.append(t, "ses_other", store.Any(), event("plain"))
		b.append(t, "ses_a", store.Any(), event("plain"))
		b.append(t, "ses_a", store.Any(), event("plain"))
		expectTail(t, tail, 5, 6, 7)
	})
	t.Run("wakes", func(t *testing.T) { testWakes(t, open(t, h)) })
	t.Run("no gap under load", func(t *testing.T) { testTailLoad(t, open(t, h)) })
	t.Run("ends with its context", func(t *testing.T) {
		tail := store.NewTail(open(t, h), "ses_a", -1)
		defer tail.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := tail.Next(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("next: %v", err)
		}
	})
	t.Run("sees the deletion", func(t *testing.T) {
		b := open(t, h)
		b.append(t, "ses_a", store.Any(), event("plain"))
		tail := store.NewTail(b, "ses_a", 0)
		defer tail.Close()
		if err := b.Delete(t.Context(), "ses_a"); err != nil {
			t.Fatal(err)
		}
		if _, err := tail.Next(t.Context(), 1); !errors.Is(err, store.ErrDeleted) {
			t.Errorf("next: %v", err)
		}
	})
}

func expectTail(t *testing.T, tail *store.Tail, want ...int64) {
	t.Helper()
	var got []int64
	for len(got) < len(want) {
		page, err := tail.Next(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			got = append(got, e.Seq)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tail (-want +got):\n%s", diff)
	}
}

// testWakes: a wake is there when Append returns, and many are one.
func testWakes(t *testing.T, b *fixture) {
	mine, all, other := b.Watch("ses_a"), b.Watch(""), b.Watch("ses_b")
	for range 3 {
		b.append(t, "ses_a", store.Any(), event("plain"))
	}
	woken := func(w *store.Wake) bool {
		select {
		case <-w.C():
			return true
		default:
			return false
		}
	}
	for range 2 {
		first, second := woken(mine), woken(mine)
		if !first || second || !woken(all) || woken(other) {
			t.Errorf("woken: mine %v then %v, or the others wrongly", first, second)
		}
		b.append(t, "ses_a", store.Any(), event("plain"))
	}
	mine.Close()
	mine.Close()
	all.Close()
	other.Close()
	woken(mine)
	b.append(t, "ses_a", store.Any(), event("plain"))
	if woken(mine) {
		t.Error("poked after its end")
	}
	failed := b.Watch("ses_a")
	defer failed.Close()
	if _, err := b.Append(t.Context(), store.Batch{Aggregate: "ses_a", Events: []store.Event{event("reject")}}); err == nil || woken(failed) {
		t.Errorf("poked by an append that failed: %v", err)
	}
}

// testTailLoad follows an aggregate while many write to it.
func testTailLoad(t *testing.T, b *fixture) {
	const writers, each = 16, 25
	for range writers {
		go func() {
			for range each {
				if _, err := b.Append(t.Context(), store.Batch{Aggregate: "ses_a", Events: events(1)}); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		}()
	}
	tail := store.NewTail(b, "ses_a", -1)
	defer tail.Close()
	for next := int64(0); next < writers*each; {
		page, err := tail.Next(t.Context(), 7)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			if e.Seq != next {
				t.Fatalf("sequence %d, want %d", e.Seq, next)
			}
			next++
		}
	}
}
