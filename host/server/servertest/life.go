package servertest

import (
	"context"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
)

type life struct{ *Memory }

// Fork makes a session with the title, and no history.
func (m life) Fork(ctx context.Context, caller server.Caller, session string, fork protocol.ForkSession) (protocol.Session, bool, error) {
	m.mu.Lock()
	_, err := m.find(session)
	m.mu.Unlock()
	if err != nil {
		return protocol.Session{}, false, err
	}
	create := protocol.CreateSession{ID: fork.ID, Location: fork.Location}
	if fork.Title != nil {
		create.Title = *fork.Title
	}
	forked, created, err := sessions(m).Create(ctx, caller, create)
	forked.Fork = &protocol.Fork{SessionID: session, MessageID: fork.Message}
	return forked, created, err
}

func (m life) Remove(_ context.Context, _ server.Caller, session string) (protocol.RemovedSessions, error) {
	m.mu.Lock()
	r := m.sessions[session]
	gone := r != nil && r.deleted
	_, err := m.find(session)
	m.mu.Unlock()
	switch {
	case gone:
		return protocol.RemovedSessions{}, nil
	case err != nil:
		return protocol.RemovedSessions{}, err
	}
	m.Delete(session)
	return protocol.RemovedSessions{Sessions: []string{session}}, nil
}

// Prune takes away all events but the last.
func (m life) Prune(_ context.Context, _ server.Caller, session string) (protocol.PrunedSession, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(session)
	if err != nil {
		return protocol.PrunedSession{}, err
	}
	last := int64(len(r.events)) - 1
	pruned := protocol.PrunedSession{SessionID: session, Pruned: last > r.first, First: last, Cursor: m.head(r)}
	r.first = last
	return pruned, nil
}
