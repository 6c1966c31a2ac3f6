package bridge

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// day is some time.
var day = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func openKV(t *testing.T) store.KV {
	t.Helper()
	opened, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened.KV()
}

// settle stores values of two plugins whose ids begin alike, globally and in two sessions.
func settle(t *testing.T, kv store.KV, values int) {
	t.Helper()
	s := NewPluginStore(kv)
	for _, namespace := range []string{"plugin:acme/a", "plugin:acme/a:ses_1", "plugin:acme/a:ses_2", "plugin:acme/a-b", "plugin:acme/a-b:ses_1"} {
		for i := range values {
			if err := s.set(t.Context(), namespace, fmt.Sprintf("%04d", i), []byte(`{"version":0,"value":1}`)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// namespaces are those that hold something.
func namespaces(t *testing.T, kv store.KV) []string {
	t.Helper()
	all, err := kv.Namespaces(t.Context(), "", "", 100)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var others = []string{"plugin:acme/a-b", "plugin:acme/a-b:ses_1"}

// Values stay for 30 days to the second, then they go; those of others stay.
func TestBuriedValuesGoAfterTheirTime(t *testing.T) {
	kv := openKV(t)
	settle(t, kv, 2)
	s := NewPluginStore(kv)
	if err := s.Bury(t.Context(), "acme/a", day); err != nil {
		t.Fatal(err)
	}
	if err := s.Bury(t.Context(), "acme/a", day.Add(time.Hour)); err != nil { // it counts from the first
		t.Fatal(err)
	}
	if swept, err := s.Sweep(t.Context(), day.Add(BuriedFor-time.Second)); err != nil || len(swept) > 0 {
		t.Errorf("too early: %v, %v", swept, err)
	}
	if got := namespaces(t, kv); len(got) != 6 {
		t.Errorf("too early: %q", got)
	}
	if swept, err := s.Sweep(t.Context(), day.Add(BuriedFor)); err != nil || !cmp.Equal(swept, []string{"acme/a"}) {
		t.Errorf("%v, %v", swept, err)
	}
	if diff := cmp.Diff(others, namespaces(t, kv)); diff != "" {
		t.Error(diff)
	}
	if swept, err := s.Sweep(t.Context(), day.Add(2*BuriedFor)); err != nil || len(swept) > 0 {
		t.Errorf("again: %v, %v", swept, err)
	}
}

// A plugin that is added again in time finds what it stored, and is not swept later.
func TestUnburiedValuesStay(t *testing.T) {
	r := newRig(t).stored(t)
	s := r.reach.Store
	r.plugin.ID = "acme/a"
	settle(t, s.kv, 2)
	for _, do := range []error{s.Unbury(t.Context(), "acme/a"), s.Bury(t.Context(), "acme/a", day), s.Unbury(t.Context(), "acme/a")} {
		if do != nil {
			t.Fatal(do)
		}
	}
	if swept, err := s.Sweep(t.Context(), day.Add(10*BuriedFor)); err != nil || len(swept) > 0 {
		t.Errorf("%v, %v", swept, err)
	}
	if got := r.ask(t, "kv.get", `{"key":"0001"}`); got != `{"ok":{"value":1,"version":0}}` {
		t.Error(got)
	}
	if got := namespaces(t, s.kv); len(got) != 5 {
		t.Errorf("%q", got)
	}
}

// A purge takes the plugin's own values and those in sessions, more than one step of
// them; the bound of a scope is measured anew.
func TestAPurgeTakesAll(t *testing.T) {
	r := newRig(t).stored(t)
	s := r.reach.Store
	r.plugin.ID = "acme/a"
	settle(t, s.kv, 2)
	for i := range 2*clearKeys + 1 {
		r.ask(t, "kv.set", fmt.Sprintf(`{"key":"k%d","value":1}`, i))
	}
	if err := s.Purge(t.Context(), "acme/a", day); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(others, namespaces(t, s.kv)); diff != "" {
		t.Error(diff)
	}
	r.ask(t, "kv.set", `{"key":"k","value":1}`)
	at, release := s.hold("plugin:acme/a")
	defer release()
	if at.total != len("k")+len(`{"version":0,"value":1}`) {
		t.Errorf("%d bytes are counted", at.total)
	}
}

// dying is a store whose process ends at one of its writes, before or after it was done.
type dying struct {
	store.KV
	left  int
	after bool
}

var errDied = errors.New("the process has died")

func (d *dying) write(do func() error) error {
	if d.left--; d.left < 0 {
		return errDied
	}
	if d.left > 0 || d.after {
		if err := do(); err != nil || d.left > 0 {
			return err
		}
	}
	return errDied
}

func (d *dying) Set(ctx context.Context, namespace, key string, value []byte) error {
	return d.write(func() error { return d.KV.Set(ctx, namespace, key, value) })
}

func (d *dying) Delete(ctx context.Context, namespace, key string) error {
	return d.write(func() error { return d.KV.Delete(ctx, namespace, key) })
}

func (d *dying) Clear(ctx context.Context, namespace string, limit int) (removed int, err error) {
	err = d.write(func() (err error) { removed, err = d.KV.Clear(ctx, namespace, limit); return err })
	return removed, err
}

// Wherever a purge or a sweep dies, the plugin has all of its values or, from the next
// sweep on and when it is added again, none.
func TestARemovalThatDiesIsCompleted(t *testing.T) {
	removals := map[string]func(s *PluginStore) error{
		"purge": func(s *PluginStore) error { return s.Purge(t.Context(), "acme/a", day) },
		"sweep": func(s *PluginStore) error {
			_, err := s.Sweep(t.Context(), day.Add(BuriedFor))
			return err
		},
	}
	for name, remove := range removals {
		finished := false
		for write := 1; !finished && write < 50; write++ {
			for _, after := range []bool{false, true} {
				for _, again := range []string{"swept", "added again"} {
					kv := openKV(t)
					settle(t, kv, 1)
					if name == "sweep" {
						if err := NewPluginStore(kv).Bury(t.Context(), "acme/a", day); err != nil {
							t.Fatal(err)
						}
					}
					err := remove(NewPluginStore(&dying{KV: kv, left: write, after: after}))
					if finished = err == nil; err != nil && !errors.Is(err, errDied) {
						t.Fatal(err)
					}
					begun := write > 1 || after // the tombstone is written
					next := NewPluginStore(kv)
					if again == "swept" {
						_, err = next.Sweep(t.Context(), day)
					} else {
						err = next.Unbury(t.Context(), "acme/a")
					}
					left := namespaces(t, kv)
					whole := len(left) >= 5
					if err != nil || begun && !cmp.Equal(left, others) || !begun && !whole {
						t.Errorf("%s, died at write %d (done: %t), then %s: %q, %v", name, write, after, again, left, err)
					}
				}
			}
		}
		if !finished {
			t.Errorf("%s never finished", name)
		}
	}
}

// One whose tombstone cannot be read does not keep the others from being swept.
func TestASweepGoesOn(t *testing.T) {
	kv := openKV(t)
	settle(t, kv, 1)
	s := NewPluginStore(kv)
	for _, plugin := range []string{"acme/a", "acme/a-b"} {
		if err := s.Bury(t.Context(), plugin, day); err != nil {
			t.Fatal(err)
		}
	}
	if err := kv.Set(t.Context(), buriedPlugins, "acme/a", []byte("rubbish")); err != nil {
		t.Fatal(err)
	}
	swept, err := s.Sweep(t.Context(), day.Add(BuriedFor))
	if err == nil || !cmp.Equal(swept, []string{"acme/a-b"}) {
		t.Errorf("%v, %v", swept, err)
	}
}

// What all plugins stored in a session goes with it, and nothing else.
func TestASessionIsForgotten(t *testing.T) {
	kv := openKV(t)
	settle(t, kv, 2)
	s := NewPluginStore(kv)
	for _, id := range []string{"ses", "ses_", "ses_9", "a"} {
		if err := s.Forget(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if got := namespaces(t, kv); len(got) != 5 {
		t.Errorf("%q", got)
	}
	if err := s.Forget(t.Context(), "ses_1"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"plugin:acme/a", "plugin:acme/a-b", "plugin:acme/a:ses_2"}, namespaces(t, kv)); diff != "" {
		t.Error(diff)
	}
}

func TestSessionsThatAreGoneAreSwept(t *testing.T) {
	kv := openKV(t)
	settle(t, kv, 2)
	s := NewPluginStore(kv)
	swept, err := s.SweepSessions(t.Context(), func(_ context.Context, id string) (bool, error) { return id == "ses_1", nil })
	if err != nil || swept != 2 {
		t.Errorf("%d, %v", swept, err)
	}
	if diff := cmp.Diff([]string{"plugin:acme/a", "plugin:acme/a-b", "plugin:acme/a:ses_2"}, namespaces(t, kv)); diff != "" {
		t.Error(diff)
	}
	if _, err := s.SweepSessions(t.Context(), func(context.Context, string) (bool, error) { return true, errDied }); !errors.Is(err, errDied) {
		t.Errorf("%v", err)
	}
	if got := namespaces(t, kv); len(got) != 3 {
		t.Errorf("removed in doubt: %q", got)
	}
}

// A write beside a removal is before it or after it: the count of bytes is right.
func TestAWriteBesideARemoval(t *testing.T) {
	r := newRig(t).stored(t)
	r.plugin.ID = "acme/a"
	settle(t, r.reach.Store.kv, 1)
	done := make(chan error)
	go func() { done <- r.reach.Store.Forget(t.Context(), "ses_1") }()
	for i := range 20 {
		r.askIn(t, session.ToolCall{Session: "ses_1"}, "kv.set", fmt.Sprintf(`{"scope":"session","key":"n%d","value":1}`, i))
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	at, release := r.reach.Store.hold("plugin:acme/a:ses_1")
	defer release()
	var stored scope
	for _, one := range []*scope{at, &stored} { // the one as the next write would find it
		if err := one.load(t.Context(), r.reach.Store.kv, "plugin:acme/a:ses_1"); err != nil {
			t.Fatal(err)
		}
	}
	if at.total != stored.total {
		t.Errorf("%d bytes are counted, %d are stored", at.total, stored.total)
	}
}
