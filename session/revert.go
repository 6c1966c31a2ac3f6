package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/store"
)

// RevertRequest asks for a return to before a message.
type RevertRequest struct {
	Session string
	// Message is a user's or an assistant's; it goes, and all that came after it.
	Message string
	// Files asks for the files to be what they were before the first step that goes, as
	// far as the steps that go changed them.
	Files bool
}

// RevertWithoutFiles is what helps where the files of a revert cannot be restored.
const RevertWithoutFiles = "stage it again without files (--no-files) to leave them as they are"

// Revert stages a return to before a message: it is carried out when the next activity
// begins, or by CommitRevert, and ClearRevert takes it back. The session must be idle. A
// revert that is staged already is cleared first, so the files go from where they were;
// where they cannot be put back, a revert without files leaves them as they are.
//
// What is about to be restored is recorded with a snapshot of the files as they are,
// before the first of them changes, and once more when they all have. In between the
// revert says that it is restoring: it can be made again, cleared and committed all the
// same, in this process or in the next.
func (s *Sessions) Revert(ctx context.Context, origin Origin, request RevertRequest) (Session, error) {
	defer s.inboxes.lock(request.Session)()
	message, boundary, err := s.revertible(ctx, request)
	if err != nil {
		return Session{}, err
	}
	current, err := s.Get(ctx, request.Session)
	if err != nil {
		return Session{}, err
	}
	if staged := current.Revert; staged != nil {
		if staged.Message == message.ID && !staged.Restoring && request.Files == (staged.Target != "") {
			return current, nil // it is done
		}
		if err := s.unstage(ctx, origin, current, request.Files); err != nil {
			return Session{}, fmt.Errorf("clear the revert that is staged: %w", err)
		}
	}
	revert := Revert{Message: message.ID, Boundary: boundary}
	if request.Files {
		if err := s.planFiles(ctx, current, message, &revert); err != nil {
			return Session{}, err
		}
	}
	if err := s.stage(context.WithoutCancel(ctx), origin, current, revert); err != nil {
		return Session{}, fmt.Errorf("revert: %w", err)
	}
	return s.Get(ctx, request.Session)
}

// revertible reads the message that is to go and what stays before it.
func (s *Sessions) revertible(ctx context.Context, request RevertRequest) (message Message, boundary int64, err error) {
	err = s.view(ctx, request.Session, func(tx store.Tx) error {
		if err := idle(ctx, tx, request.Session, "a revert"); err != nil {
			return err
		}
		if message, err = LoadMessage(ctx, tx, request.Session, request.Message); err != nil {
			return err
		}
		boundary, err = lastBefore(ctx, tx, request.Session, message.Seq)
		return err
	})
	if err == nil && message.Type != MessageUser && message.Type != MessageAssistant {
		err = fmt.Errorf("%w: message %s is of the type %s; revert to one of a user or an assistant", ErrInvalid, message.ID, message.Type)
	}
	return message, boundary, err
}

// idle answers a conflict while something works on the session.
func idle(ctx context.Context, tx store.Tx, session, what string) error {
	running, err := loadActivity(ctx, tx, session)
	if err != nil || running == nil {
		return err
	}
	return &ConflictError{ID: session, Reason: fmt.Sprintf("works (%s), and %s needs an idle session", running.ID, what),
		Fix: "interrupt it, or wait until it is idle"}
}

// planFiles fills in which files are to be restored, from and to which snapshot; nothing
// when no step that goes changed any.
func (s *Sessions) planFiles(ctx context.Context, current Session, message Message, revert *Revert) error {
	var steps []Message
	err := s.log.View(ctx, func(tx store.Tx) (err error) {
		steps, err = LoadSteps(ctx, tx, current.ID, message.Seq-1)
		return err
	})
	steps = slices.DeleteFunc(steps, func(step Message) bool { return step.Before == "" })
	if err != nil || len(steps) == 0 {
		return err
	}
	files, now, err := s.restorable(ctx, current.Location, steps)
	if err != nil {
		return &ConflictError{ID: message.ID, Reason: fmt.Sprintf("cannot be reverted with its files: %v", err), Fix: RevertWithoutFiles}
	}
	if len(files) > 0 {
		revert.Snapshot, revert.Target, revert.Files, revert.Restoring = now, steps[0].Before, files, true
	}
	return nil
}

var errNoSnapshots = errors.New("this host keeps no snapshots of files here")

// restorable takes a snapshot and answers the files in which it differs from the one
// before the steps, of those that the steps changed: what others changed stays. A step
// that was not closed changed what differs before the next.
func (s *Sessions) restorable(ctx context.Context, location Location, steps []Message) (files []FileDiff, now string, err error) {
	if s.options.Snapshots == nil {
		return nil, "", errNoSnapshots
	}
	if now, err = s.options.Snapshots.Capture(ctx, location); err == nil && now == "" {
		err = errNoSnapshots
	}
	if err != nil {
		return nil, "", err
	}
	touched := map[string]bool{}
	for i, step := range steps {
		changed, after := step.Files, step.After
		if after == "" {
			after = now
			if i+1 < len(steps) {
				after = steps[i+1].Before
			}
		}
		if step.After == "" || len(changed) >= MaxFileDiffs {
			if changed, err = s.options.Snapshots.Diff(ctx, location, step.Before, after); err != nil {
				return nil, "", err
			}
		}
		for _, file := range changed {
			touched[file.Path] = true
		}
	}
	files, err = s.options.Snapshots.Diff(ctx, location, now, steps[0].Before)
	return slices.DeleteFunc(files, func(file FileDiff) bool { return !touched[file.Path] }), now, err
}

// stage records the revert and restores its files. When that fails they are put back
// and nothing is staged; when that fails too the revert stays as restoring.
func (s *Sessions) stage(ctx context.Context, origin Origin, current Session, revert Revert) error {
	if _, err := s.append(ctx, origin, current.ID, store.Any(), RevertStaged{Revert: revert}); err != nil {
		return err
	}
	if !revert.Restoring {
		return nil
	}
	left, err := s.restore(ctx, current.Location, revert.Target, revert.Files)
	if err != nil {
		left, back := s.restore(ctx, current.Location, revert.Snapshot, revert.Files)
		if back != nil {
			return errors.Join(err, back)
		}
		_, cleared := s.append(ctx, origin, current.ID, store.Any(), RevertCleared{Unrestored: left})
		return errors.Join(err, cleared)
	}
	revert.Restoring, revert.Unrestored = false, left
	revert.Files = slices.DeleteFunc(revert.Files, func(file FileDiff) bool { return slices.Contains(left, file.Path) })
	_, err = s.append(ctx, origin, current.ID, store.Any(), s.withChanges(ctx, current, RevertStaged{Revert: revert})...)
	if isConflict(err) {
		return nil // it was restored, and somebody has gone on from there
	}
	return err
}

func isConflict(err error) bool {
	_, is := errors.AsType[*ConflictError](err)
	return is
}

// restore answers the paths that could not be restored.
func (s *Sessions) restore(ctx context.Context, location Location, snapshot string, files []FileDiff) (left []string, err error) {
	if s.options.Snapshots == nil {
		return nil, errNoSnapshots
	}
	restored, err := s.options.Snapshots.Restore(ctx, location, snapshot, Paths(files))
	return restored.Left, err
}

// Paths lists the files' paths; it is not nil.
func Paths(files []FileDiff) []string {
	paths := make([]string, len(files))
	for i, file := range files {
		paths[i] = file.Path
	}
	return paths
}

// withChanges adds what the session's changes are, now that files were restored. A
// summary that cannot be made is left to the next activity.
func (s *Sessions) withChanges(ctx context.Context, current Session, payloads ...Payload) []Payload {
	if current.Changes == nil || s.options.Snapshots == nil {
		return payloads
	}
	now, err := s.options.Snapshots.Capture(ctx, current.Location)
	if err != nil || now == "" {
		return payloads
	}
	changes, err := SummarizeChanges(ctx, s.options.Snapshots, current.Location, current.Changes.From, now)
	if err != nil || changes.Same(current.Changes) {
		return payloads
	}
	return append(payloads, ChangesSummarized{Changes: changes})
}

// ClearRevert takes a staged revert back: the files it restored are what they were
// before it. The session must be idle.
func (s *Sessions) ClearRevert(ctx context.Context, origin Origin, session string) (Session, error) {
	defer s.inboxes.lock(session)()
	current, err := s.stagedIdle(ctx, session)
	if err != nil {
		return Session{}, err
	}
	if err := s.unstage(ctx, origin, current, true); err != nil {
		return Session{}, fmt.Errorf("clear the revert: %w", err)
	}
	return s.Get(ctx, session)
}

// stagedIdle answers the session when a revert is staged and nothing works on it.
func (s *Sessions) stagedIdle(ctx context.Context, session string) (current Session, err error) {
	err = s.view(ctx, session, func(tx store.Tx) error {
		if current, err = LoadSession(ctx, tx, session); err != nil {
			return err
		}
		if current.Revert == nil {
			return notStaged(session)
		}
		return idle(ctx, tx, session, "a revert")
	})
	return current, err
}

// unstage puts the files back, with a snapshot of what it replaces, and clears. Files
// whose state is not kept here are a *ConflictError, before anything is recorded; unless
// they must be put back they stay as they are then.
func (s *Sessions) unstage(ctx context.Context, origin Origin, current Session, must bool) error {
	cleared := RevertCleared{}
	if current.Revert.Target != "" {
		now, err := s.beforeUnstaging(ctx, current)
		lost := errors.Is(err, ErrNoSnapshot) || errors.Is(err, errNoSnapshots)
		switch {
		case lost && must:
			return &ConflictError{ID: current.ID, Reason: fmt.Sprintf("cannot get the files back that its revert replaced: %v", err),
				Fix: RevertWithoutFiles}
		case err != nil && !lost:
			return err
		case err == nil:
			cleared.Snapshot = now
			if cleared.Unrestored, err = s.putBack(context.WithoutCancel(ctx), origin, current); err != nil {
				return err
			}
		}
	}
	ctx = context.WithoutCancel(ctx)
	_, err := s.append(ctx, origin, current.ID, store.Any(), s.withChanges(ctx, current, cleared)...)
	return err
}

// beforeUnstaging makes sure that the files' state before the revert is kept, and takes a
// snapshot of what they are now.
func (s *Sessions) beforeUnstaging(ctx context.Context, current Session) (now string, err error) {
	if s.options.Snapshots == nil {
		return "", errNoSnapshots
	}
	if _, err := s.options.Snapshots.Diff(ctx, current.Location, current.Revert.Snapshot, current.Revert.Target); err != nil {
		return "", err
	}
	return s.options.Snapshots.Capture(ctx, current.Location)
}

// putBack restores what the revert replaced, and records before that it does. It answers
// the paths that could not be put back.
func (s *Sessions) putBack(ctx context.Context, origin Origin, current Session) (left []string, err error) {
	revert := *current.Revert
	if !revert.Restoring {
		revert.Restoring = true
		if _, err := s.append(ctx, origin, current.ID, store.Any(), RevertStaged{Revert: revert}); err != nil {
			return nil, err
		}
	}
	return s.restore(ctx, current.Location, revert.Snapshot, revert.Files)
}

// CommitRevert carries a staged revert out now: its messages are gone. The session must
// be idle.
func (s *Sessions) CommitRevert(ctx context.Context, origin Origin, session string) (Session, error) {
	defer s.inboxes.lock(session)()
	current, err := s.stagedIdle(ctx, session)
	if err != nil {
		return Session{}, err
	}
	revert := current.Revert
	committed := RevertCommitted{Boundary: revert.Boundary}
	if revert.Restoring {
		if committed.Unrestored, err = s.restore(context.WithoutCancel(ctx), current.Location, revert.Target, revert.Files); err != nil {
			return Session{}, fmt.Errorf("commit the revert: %w", err)
		}
	}
	if _, err := s.append(ctx, origin, session, store.Any(), committed); err != nil {
		return Session{}, fmt.Errorf("commit the revert: %w", err)
	}
	return s.Get(ctx, session)
}
