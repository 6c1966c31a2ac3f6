package runner

import (
	"context"

	"github.com/plinthhost/plinth/session"
)

// capture names the state of the files before the step, where somebody keeps it. A
// failure is the operator's to know and changes nothing.
func (t *turn) capture(ctx context.Context) {
	if t.Snapshots == nil {
		return
	}
	snapshot, err := t.Snapshots.Capture(ctx, t.current.Location)
	if err != nil {
		t.Logger.Warn("no snapshot of the files", "session", t.session, "error", err)
		return
	}
	t.before = snapshot
}

// changes answers the state after the step, and what the step changed.
func (t *turn) changes(ctx context.Context) (after string, files []session.FileDiff) {
	if t.before == "" {
		return "", nil
	}
	after, err := t.Snapshots.Capture(ctx, t.current.Location)
	if err == nil && after != t.before {
		files, err = t.Snapshots.Diff(ctx, t.current.Location, t.before, after)
	}
	if err != nil {
		t.Logger.Warn("no snapshot of the files", "session", t.session, "error", err)
	}
	return after, files
}
