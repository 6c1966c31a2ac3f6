package runner

import (
	"context"
	"fmt"

	"github.com/plinthhost/plinth/session"
)

// commitRevert answers what an activity begins with in a session whose revert is staged.
// Files that were still being restored, when a process died, are restored first.
func (d *drain) commitRevert(ctx context.Context, w window) ([]session.Payload, error) {
	revert := w.revert
	if revert == nil {
		return nil, nil
	}
	committed := session.RevertCommitted{Boundary: revert.Boundary}
	if revert.Restoring {
		failed := func(err error) error {
			return &session.Failure{Code: session.FailureRevert, Message: fmt.Sprintf(
				"The files of the revert that is staged are not all restored: %v; clear the revert, or %s", err, session.RevertWithoutFiles)}
		}
		if d.Snapshots == nil {
			return nil, failed(session.ErrNoSnapshot)
		}
		restored, err := d.Snapshots.Restore(ctx, w.session.Location, revert.Target, session.Paths(revert.Files))
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return nil, cause
			}
			return nil, failed(err)
		}
		committed.Unrestored = restored.Left
	}
	return []session.Payload{committed}, nil
}
