package runner_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// What could not be restored stands in the events and in the session, while the revert is
// staged and after it was cleared or committed.
func TestWhatARevertCouldNotRestoreIsTold(t *testing.T) {
	d := newDisk(maps.Clone(untouched))
	w, id := worked(t, d)
	d.stuck = list("b")
	staged := revert(t, w, id, "first", true)
	if diff := cmp.Diff(list("b"), staged.Revert.Unrestored); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(list("a", "c"), session.Paths(staged.Revert.Files)); diff != "" {
		t.Errorf("restored: %s", diff)
	}
	wantFiles(t, d, map[string]string{"a": "0", "b": "1", "keep": "0", "mine": "own"})
	d.stuck = list("a")
	cleared, err := w.Sessions.ClearRevert(t.Context(), session.System(), id)
	if err != nil || cleared.Revert != nil || !cmp.Equal(list("a"), cleared.Unrestored) {
		t.Errorf("cleared: %+v, %v, %v", cleared.Revert, cleared.Unrestored, err)
	}
	d.stuck = list("b")
	if again := revert(t, w, id, "first", true); again.Unrestored != nil {
		t.Errorf("the clearing's %v stays while the next is staged", again.Unrestored)
	}
	committed, err := w.Sessions.CommitRevert(t.Context(), session.System(), id)
	if err != nil || !cmp.Equal(list("b"), committed.Unrestored) {
		t.Errorf("committed: %v, %v", committed.Unrestored, err)
	}
	events := map[string][]string{}
	page, err := w.Log.Read(t.Context(), id, -1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range page.Events {
		var data struct {
			Unrestored []string       `json:"unrestored"`
			Revert     session.Revert `json:"revert"`
		}
		if err := json.Unmarshal(event.Data, &data); err == nil && len(data.Unrestored)+len(data.Revert.Unrestored) > 0 {
			events[event.Type] = append(data.Unrestored, data.Revert.Unrestored...)
		}
	}
	want := map[string][]string{"session.revert.staged": list("b"), "session.revert.cleared": list("a")}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
}

// A prompt that finishes the restoring of a process that died tells it too.
func TestWhatThePromptCouldNotRestoreIsTold(t *testing.T) {
	d := newDisk(maps.Clone(untouched))
	w, id := worked(t, d)
	request := session.RevertRequest{Session: id, Message: messageOf(t, w, id, "first").ID, Files: true}
	dying := sessiontest.New(t, sessiontest.Options{Snapshots: killed{d, 0}})
	copySession(t, w, dying, id)
	_ = dies(func() error {
		_, err := dying.Sessions.Revert(t.Context(), session.System(), request)
		return err
	})
	d.stuck = list("c")
	next := sessiontest.New(t, sessiontest.Options{Snapshots: d})
	copySession(t, dying, next, id)
	next.Provider.Script(sessiontest.Say("Third done"))
	next.Prompt(id, "third", session.Steer)
	next.Settled(id, 3)
	if s, err := next.Sessions.Get(t.Context(), id); err != nil || !cmp.Equal(list("c"), s.Unrestored) {
		t.Errorf("%v, %v", s.Unrestored, err)
	}
	wantFiles(t, d, map[string]string{"a": "0", "c": "2", "keep": "0", "mine": "own"})
}
