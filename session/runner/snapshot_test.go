package runner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// files are a place whose state has a number, which a tool raises.
type files struct {
	state int
	err   error // what Capture fails with
	diffs []string
}

func (f *files) Capture(_ context.Context, location session.Location) (string, error) {
	return fmt.Sprintf("%s@%d", location.Directory, f.state), f.err
}

func (f *files) Restore(context.Context, session.Location, string, []string) (session.Restored, error) {
	return session.Restored{}, errors.New("nothing is restored here")
}

func (f *files) Diff(_ context.Context, _ session.Location, from, to string) ([]session.FileDiff, error) {
	f.diffs = append(f.diffs, from+" "+to)
	return []session.FileDiff{{Path: "main.go", Additions: 3, Deletions: 1}}, nil
}

func TestSnapshotsAroundAStep(t *testing.T) {
	place := &files{}
	w := New(t, Options{Snapshots: place})
	w.Contribute("core/tools", tool(w, "write", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
		place.state++
		return Output("written"), nil
	}))
	w.Provider.Script(Calls("write", `{}`), Say("Done"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	var got []string
	for _, step := range assistants(w, id) {
		got = append(got, fmt.Sprintf("%s → %s %v", step.Before, step.After, step.Files))
	}
	if diff := cmp.Diff([]string{"/work@0 → /work@1 [{main.go 3 1}]", "/work@1 → /work@1 []"}, got); diff != "" {
		t.Error(diff)
	}
	want := []string{"/work@0 /work@1", "/work@0 /work@1"} // of the step, and of the activity
	if diff := cmp.Diff(want, place.diffs); diff != "" {
		t.Error(diff)
	}
	var parts []string
	for _, part := range assistants(w, id)[0].Timeline() {
		parts = append(parts, part.Type+" "+part.Snapshot)
	}
	want = []string{"step_start /work@0", "tool ", "snapshot /work@1", "patch /work@1", "step_finish /work@1"}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Error(diff)
	}
}

// Files that cannot be named stop nothing.
func TestSnapshotsThatFail(t *testing.T) {
	w := New(t, Options{Snapshots: &files{err: errors.New("disk full")}})
	w.Provider.Script(Say("Done"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	if got := ended(w, id); got.Outcome != session.Completed {
		t.Errorf("ended %+v", got)
	}
	if step := only(t, assistants(w, id)); step.Before != "" || step.After != "" || step.Files != nil {
		t.Errorf("step %+v", step)
	}
}
