package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plinthhost/plinth/store"
)

// model is what the log must hold, in the simplest form that is right.
type model struct {
	events  map[string][]store.Event
	fence   map[string]int64
	deleted map[string]bool
}

// testModel runs random operations against the log and the model. All runs share
// one log and differ in their aggregates.
func testModel(t *testing.T, h Harness) {
	b := open(t, h)
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		m := &model{events: map[string][]store.Event{}, fence: map[string]int64{}, deleted: map[string]bool{}}
		aggregate := rapid.Custom(func(r *rapid.T) string {
			return fmt.Sprintf("ses_%d_%d", run, rapid.IntRange(0, 2).Draw(r, "aggregate"))
		})
		r.Repeat(map[string]func(*rapid.T){
			"append": func(r *rapid.T) { m.append(r, b, aggregate.Draw(r, "aggregate")) },
			"delete": func(r *rapid.T) {
				if rapid.IntRange(0, 4).Draw(r, "rarely") > 0 {
					return
				}
				name := aggregate.Draw(r, "aggregate")
				if err := b.Delete(t.Context(), name); err != nil {
					r.Fatalf("delete: %v", err)
				}
				m.deleted[name] = true
			},
			"read": func(r *rapid.T) { m.read(r, b, aggregate.Draw(r, "aggregate")) },
		})
	})
}

func (m *model) append(r *rapid.T, b *fixture, name string) {
	fresh := events(rapid.IntRange(1, 3).Draw(r, "events"))
	last := int64(len(m.events[name])) - 1
	var mode store.Mode
	var want error
	switch rapid.IntRange(0, 2).Draw(r, "mode") {
	case 1:
		seq := max(last+rapid.Int64Range(-1, 1).Draw(r, "seq"), -1)
		mode = store.Exactly(seq)
		if seq != last {
			want = store.ErrSequence
		}
	case 2:
		fence := rapid.Int64Range(1, 4).Draw(r, "fence")
		mode = store.Fenced(fence)
		if fence < m.fence[name] {
			want = store.ErrFenced
		}
	}
	if want == nil && rapid.IntRange(0, 5).Draw(r, "reject") == 0 {
		fresh[len(fresh)-1].Type, want = "reject", errRejected
	}
	if m.deleted[name] {
		want = store.ErrDeleted
	}
	written, err := b.Append(r.Context(), store.Batch{Aggregate: name, Mode: mode, Events: fresh})
	if !errors.Is(err, want) {
		r.Fatalf("append: %v, want %v", err, want)
	}
	if err != nil {
		return
	}
	if fence, ok := mode.Fence(); ok {
		m.fence[name] = max(m.fence[name], fence)
	}
	m.events[name] = append(m.events[name], written...)
}

func (m *model) read(r *rapid.T, b *fixture, name string) {
	after := rapid.Int64Range(-1, 6).Draw(r, "after")
	limit := rapid.IntRange(1, 4).Draw(r, "limit")
	page, err := b.Read(r.Context(), name, after, limit)
	if m.deleted[name] {
		if !errors.Is(err, store.ErrDeleted) {
			r.Fatalf("read: %v", err)
		}
		return
	}
	if err != nil {
		r.Fatalf("read: %v", err)
	}
	all := m.events[name]
	rest := all[min(int(after+1), len(all)):]
	want := store.Page{More: len(rest) > limit, Head: store.Head{Seq: int64(len(all)) - 1, Fence: m.fence[name]}}
	want.Events = append(want.Events, rest[:min(limit, len(rest))]...)
	if diff := cmp.Diff(want, page); diff != "" {
		r.Fatalf("read after %d (-want +got):\n%s", after, diff)
	}
}
