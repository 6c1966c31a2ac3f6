package runner

import (
	"context"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// capture begins to name the state of the files before the step, where somebody keeps
// it, beside the request: it is done before anything of the answer is recorded, and so
// before a tool changes them. A failure is the operator's to know and changes nothing.
func (t *turn) capture(ctx context.Context) {
	if t.Snapshots == nil {
		return
	}
	done := make(chan struct{})
	t.captured = done
	go func() {
		defer close(done)
		snapshot, err := t.Snapshots.Capture(ctx, t.current.Location)
		if err != nil && context.Cause(ctx) == nil {
			t.Logger.Warn("no snapshot of the files", "session", t.session, "error", err)
		}
		if err == nil {
			t.before = snapshot
		}
	}()
}

// filesBefore waits for the state before the step; "" when there is none.
func (t *turn) filesBefore() string {
	if t.captured != nil {
		<-t.captured
	}
	return t.before
}

// changes answers the state after the step, and what its calls changed. A step without
// calls changed nothing, whatever others do to the files meanwhile.
func (t *turn) changes(ctx context.Context) (after string, files []session.FileDiff) {
	before := t.filesBefore()
	if before == "" || len(t.called) == 0 {
		return before, nil
	}
	ctx = context.WithoutCancel(ctx) // what an interrupted step did is recorded too
	after, err := t.Snapshots.Capture(ctx, t.current.Location)
	if err == nil && after != before && after != "" {
		files, err = t.Snapshots.Diff(ctx, t.current.Location, before, after)
	}
	if err != nil {
		t.Logger.Warn("no snapshot of the files", "session", t.session, "error", err)
	}
	return after, files[:min(len(files), session.MaxFileDiffs)]
}

// changed answers what is recorded with an activity's end of the files that the session
// has changed: nothing when no step of the activity changed any. Closing is what is about
// to be appended.
func (d *drain) changed(ctx context.Context, a *activity, closing []session.Payload) []session.Payload {
	if d.Snapshots == nil || !a.started {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	var current session.Session
	var steps, all []session.Message
	err := d.Log.View(ctx, func(tx store.Tx) (err error) {
		if current, err = session.LoadSession(ctx, tx, d.session); err != nil {
			return err
		}
		running, err := session.LoadActivity(ctx, tx, d.session)
		if err != nil {
			return err
		}
		if steps, err = session.LoadSteps(ctx, tx, d.session, running.Started); err == nil && current.Changes == nil {
			all, err = session.LoadSteps(ctx, tx, d.session, -1)
		}
		return err
	})
	if err != nil {
		d.Logger.Warn("no summary of the changes", "session", d.session, "error", err)
		return nil
	}
	to, changed := newest(steps, closing)
	if !changed {
		return nil
	}
	var from []string
	if current.Changes != nil {
		from = append(from, current.Changes.From)
	}
	return d.summarized(ctx, current, append(from, first(all), first(steps)), to)
}

// summarized counts from the first of the snapshots that is of this place and still kept.
func (d *drain) summarized(ctx context.Context, current session.Session, from []string, to string) []session.Payload {
	var failed error
	for _, snapshot := range from {
		if snapshot == "" {
			continue
		}
		changes, err := session.SummarizeChanges(ctx, d.Snapshots, current.Location, snapshot, to)
		if err != nil {
			failed = err
			continue
		}
		if changes.Same(current.Changes) {
			return nil
		}
		return []session.Payload{session.ChangesSummarized{Changes: changes}}
	}
	d.Logger.Warn("no summary of the changes", "session", d.session, "error", failed)
	return nil
}

// first is the snapshot before the first of the steps that has one.
func first(steps []session.Message) string {
	for _, step := range steps {
		if step.Before != "" {
			return step.Before
		}
	}
	return ""
}

// newest is the last snapshot after a step, and whether any step changed a file.
func newest(steps []session.Message, closing []session.Payload) (snapshot string, changed bool) {
	look := func(after string, files []session.FileDiff) {
		changed = changed || len(files) > 0
		if after != "" {
			snapshot = after
		}
	}
	for _, step := range steps {
		look(step.After, step.Files)
	}
	for _, payload := range closing {
		switch e := payload.(type) {
		case session.StepEnded:
			look(e.Snapshot, e.Files)
		case session.StepFailed:
			look(e.Snapshot, e.Files)
		}
	}
	return snapshot, changed && snapshot != ""
}
