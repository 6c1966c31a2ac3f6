package storetest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plinthhost/plinth/store"
)

// recorded makes events as another log would have stored them.
func recorded(aggregate string, from int64, n int) []store.Event {
	list := events(n)
	for i := range list {
		list[i].Aggregate, list[i].Seq = aggregate, from+int64(i)
		list[i].Position, list[i].Fence = 9000+int64(i), 3
	}
	return list
}

func testReplay(t *testing.T, h Harness) {
	b := open(t, h)
	b.append(t, "ses_else", store.Any(), event("plain"))
	replay := func(events []store.Event, owner string, strict bool) error {
		return b.Replay(t.Context(), events, store.ReplayOptions{Owner: owner, Strict: strict})
	}
	ok := func(name string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	diverged := func(name string, err error) {
		t.Helper()
		if _, ok := errors.AsType[*store.ReplayError](err); !ok {
			t.Errorf("%s: %v, want a ReplayError", name, err)
		}
	}
	history := recorded("ses_a", 0, 6)
	expect := func(n int) {
		t.Helper()
		got := b.read(t, "ses_a")
		if diff := cmp.Diff(history[:n], got, cmpopts.IgnoreFields(store.Event{}, "Position"), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if total, _ := b.total(t, "ses_a"); n > 0 && total != int64(n) {
			t.Errorf("the projection saw %d, want %d", total, n)
		}
	}

	ok("nothing", replay(nil, "A", true))
	diverged("a gap at the start", replay(history[1:2], "", false))
	diverged("a gap inside", replay([]store.Event{history[0], history[2]}, "", false))
	diverged("two aggregates", replay([]store.Event{history[0], recorded("ses_b", 1, 1)[0]}, "", false))
	expect(0)

	wake := b.Watch("ses_a")
	defer wake.Close()
	ok("new, no owner", replay(history[:2], "", false))
	<-wake.C()
	expect(2)
	ok("an exact repetition", replay(history[:2], "", false))
	ok("an overlap with the next chunk", replay(history[1:4], "", false))
	expect(4)
	diverged("a gap", replay(history[5:], "", false))

	otherID, otherData, otherType, otherVersion := history[2], history[2], history[2], history[2]
	otherID.ID, otherData.Data, otherType.Type, otherVersion.Version = "evt_other", []byte(`{"kind":"x"}`), "x", 2
	for name, e := range map[string]store.Event{"id": otherID, "data": otherData, "type": otherType, "version": otherVersion} {
		diverged("another "+name, replay([]store.Event{e, history[3], history[4]}, "", false))
	}
	sameValue := history[2]
	sameValue.Data = []byte(` { "kind" : "plain" } `)
	ok("the same data in another text", replay([]store.Event{sameValue}, "", false))
	used := history[4]
	used.ID = history[0].ID
	diverged("an id used elsewhere", replay([]store.Event{used}, "", false))
	rejected := history[4]
	rejected.Type = "reject"
	if err := replay([]store.Event{rejected}, "", false); !errors.Is(err, errRejected) {
		t.Errorf("rejected by a projection: %v", err)
	}
	expect(4)
	testReplayOwners(t, b, history, replay, expect)
}

func testReplayOwners(t *testing.T, b *fixture, history []store.Event,
	replay func([]store.Event, string, bool) error, expect func(int)) {
	owner := func() string {
		page, err := b.Read(t.Context(), "ses_a", -1, 0)
		if err != nil {
			t.Fatal(err)
		}
		return page.Head.Owner
	}
	if got := owner(); got != "" {
		t.Fatalf("owned by %q", got)
	}
	if err := replay(history[:1], "A", false); err != nil || owner() != "A" {
		t.Errorf("an exact repetition by A: %v, owner %q", err, owner())
	}
	if err := replay(history[4:5], "B", false); err != nil || owner() != "A" {
		t.Errorf("new events of B are skipped: %v, owner %q", err, owner())
	}
	expect(4)
	for name, events := range map[string][]store.Event{
		"new": history[4:5], "a repetition": history[:1], "a gap": history[5:], "inconsistent": {history[0], history[5]},
	} {
		if err := replay(events, "B", true); !errors.Is(err, store.ErrReplayOwner) {
			t.Errorf("strict, %s: %v", name, err)
		}
	}
	if err := replay(history[4:], "A", true); err != nil {
		t.Errorf("strict by the owner: %v", err)
	}
	expect(6)
	if page, err := b.Read(t.Context(), "ses_a", -1, 0); err != nil || page.Head.Fence != 0 {
		t.Errorf("replay changed the fence: %+v %v", page.Head, err)
	}
	b.append(t, "ses_a", store.Exactly(5), event("plain"))
	if err := b.Delete(t.Context(), "ses_a"); err != nil {
		t.Fatal(err)
	}
	if err := replay(history[:1], "A", true); !errors.Is(err, store.ErrDeleted) {
		t.Errorf("replay onto a tombstone: %v", err)
	}
}
