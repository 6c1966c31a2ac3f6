package main

import (
	"context"
	"slices"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
)

// The commands of reverts that keys can repeat.
const (
	commandRevert       = "revert"
	commandRevertClear  = "revert.clear"
	commandRevertCommit = "revert.commit"
)

// revertService is server.Reverts.
type revertService struct{ *backend }

func (b revertService) Revert(ctx context.Context, caller server.Caller, id string, request protocol.RevertSession) (protocol.Session, error) {
	kernel := session.RevertRequest{Session: id, Message: request.Message, Files: request.Files == nil || *request.Files}
	return b.changed(ctx, caller, commandRevert, id, request, func(ctx context.Context, by session.Origin) error {
		_, err := b.sessions.Revert(ctx, by, kernel)
		return err
	})
}

func (b revertService) ClearRevert(ctx context.Context, caller server.Caller, id string) (protocol.Session, error) {
	return b.changed(ctx, caller, commandRevertClear, id, nil, func(ctx context.Context, by session.Origin) error {
		_, err := b.sessions.ClearRevert(ctx, by, id)
		return err
	})
}

func (b revertService) CommitRevert(ctx context.Context, caller server.Caller, id string) (protocol.Session, error) {
	return b.changed(ctx, caller, commandRevertCommit, id, nil, func(ctx context.Context, by session.Origin) error {
		_, err := b.sessions.CommitRevert(ctx, by, id)
		return err
	})
}

// changed carries out a command and answers the session as it is then. One whose first
// attempt died while it restored files has left an event, and is carried out again.
func (b revertService) changed(ctx context.Context, caller server.Caller, command, id string, body any,
	run func(ctx context.Context, by session.Origin) error) (protocol.Session, error) {
	ran := false
	changed, err := controlService(b).changed(ctx, caller, command, id, body, func(ctx context.Context, by session.Origin) error {
		ran = true
		return run(ctx, by)
	})
	if err != nil || ran || changed.Revert == nil || !changed.Revert.Restoring {
		return changed, err
	}
	if err := run(ctx, origin(caller)); err != nil {
		return protocol.Session{}, wireError(err)
	}
	return sessionService(b).Get(ctx, id)
}

const (
	// maxPatches bounds the files whose patches one answer has, and maxPatchBytes their
	// sum, which fits a frame.
	maxPatches    = 100
	maxPatchBytes = 256 << 10
)

func (b revertService) Changes(ctx context.Context, id string, request protocol.ListChanges) (protocol.ChangeList, error) {
	cursor, err := b.head(ctx, id)
	if err != nil {
		return protocol.ChangeList{}, wireError(err)
	}
	current, changes, err := b.sessions.FilesChanged(ctx, id, request.Message)
	if err != nil {
		return protocol.ChangeList{}, wireError(err)
	}
	list := protocol.ChangeList{SessionID: id, Additions: changes.Additions, Deletions: changes.Deletions, Total: changes.Total, Cursor: cursor}
	for _, file := range changes.Files {
		list.Files = append(list.Files, protocol.FileChange{FileDiff: protocol.FileDiff(file)})
	}
	if request.Path != "" {
		at := slices.IndexFunc(list.Files, func(file protocol.FileChange) bool { return file.Path == request.Path })
		if at < 0 {
			return protocol.ChangeList{}, protocol.Errorf(protocol.NotFound, "path: %s is none of the files that changed", oneLine(request.Path, 200))
		}
		list.Files = list.Files[at : at+1]
		list.Total, list.Additions, list.Deletions = 1, list.Files[0].Additions, list.Files[0].Deletions
	}
	if request.Patch && len(list.Files) > 0 {
		err = b.patch(ctx, current.Location, changes, list.Files)
	}
	return list, err
}

// patch fills in the unified diffs.
func (b revertService) patch(ctx context.Context, location session.Location, changes session.Changes, files []protocol.FileChange) error {
	if b.snapshots == nil {
		return protocol.Errorf(protocol.Unavailable, "this host keeps no snapshots of files, so it has no patches")
	}
	paths := make([]string, min(len(files), maxPatches))
	for i := range paths {
		paths[i] = files[i].Path
	}
	patches, err := b.snapshots.Patches(ctx, location, changes.From, changes.To, paths, maxPatchBytes)
	if err != nil {
		return wireError(err)
	}
	for i := range files {
		if i < len(patches) {
			files[i].Patch = patches[i]
		}
		files[i].Cut = files[i].Patch == ""
	}
	return nil
}

func wireRevert(revert *session.Revert) *protocol.Revert {
	if revert == nil {
		return nil
	}
	return &protocol.Revert{Message: revert.Message, Boundary: revert.Boundary, Files: wireDiffs(revert.Files), Restoring: revert.Restoring, Unrestored: revert.Unrestored}
}

func wireChanges(changes *session.Changes) *protocol.Changes {
	if changes == nil {
		return nil
	}
	return &protocol.Changes{Additions: changes.Additions, Deletions: changes.Deletions, Total: changes.Total, Files: wireDiffs(changes.Files)}
}
