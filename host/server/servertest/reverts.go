package servertest

import (
	"context"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
)

type reverts struct{ *Memory }

func (m reverts) Revert(ctx context.Context, caller server.Caller, session string, request protocol.RevertSession) (protocol.Session, error) {
	return m.stage(ctx, caller, session, "session.revert.staged", &protocol.Revert{Message: request.Message})
}

func (m reverts) ClearRevert(ctx context.Context, caller server.Caller, session string) (protocol.Session, error) {
	return m.stage(ctx, caller, session, "session.revert.cleared", nil)
}

func (m reverts) CommitRevert(ctx context.Context, caller server.Caller, session string) (protocol.Session, error) {
	return m.stage(ctx, caller, session, "session.revert.committed", nil)
}

// stage changes what is staged; without a revert there must be one.
func (m reverts) stage(ctx context.Context, caller server.Caller, session, event string, revert *protocol.Revert) (protocol.Session, error) {
	m.mu.Lock()
	r, err := m.find(session)
	if err == nil && revert == nil && r.session.Revert == nil {
		err = protocol.Errorf(protocol.Conflict, "%s has no revert staged", session)
	}
	if err == nil {
		r.session.Revert = revert
		m.append(session, caller.Actor, event, map[string]any{"revert": revert})
	}
	m.mu.Unlock()
	if err != nil {
		return protocol.Session{}, err
	}
	return sessions(m).Get(ctx, session)
}

func (m reverts) Changes(_ context.Context, session string, request protocol.ListChanges) (protocol.ChangeList, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(session)
	if err != nil {
		return protocol.ChangeList{}, err
	}
	list := protocol.ChangeList{SessionID: session, Cursor: m.head(r)}
	if request.Patch {
		list.Files = []protocol.FileChange{{FileDiff: protocol.FileDiff{Path: request.Path, Additions: 1}, Patch: "+1"}}
	}
	return list, nil
}
