package main

import (
	"context"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
)

// lifeService is server.Life.
type lifeService struct{ *backend }

func (b lifeService) Fork(ctx context.Context, caller server.Caller, id string, fork protocol.ForkSession) (protocol.Session, bool, error) {
	request := session.ForkRequest{Session: id, Message: fork.Message, ID: fork.ID, Title: fork.Title, Directory: fork.Location.Directory}
	if request.ID == "" {
		request.ID = idOf(session.PrefixSession, caller)
	}
	forked, created, err := b.sessions.Fork(ctx, origin(caller), request)
	if err != nil {
		return protocol.Session{}, false, keyedError(caller, fork.ID, err)
	}
	cursor, err := b.head(ctx, forked.ID)
	if err != nil {
		return protocol.Session{}, false, wireError(err)
	}
	wire, err := b.show(ctx, forked, cursor)
	return wire, created, wireError(err)
}

func (b lifeService) Remove(ctx context.Context, caller server.Caller, id string) (protocol.RemovedSessions, error) {
	removed, err := b.sessions.Remove(ctx, origin(caller), id)
	b.forget(context.WithoutCancel(ctx), removed)
	return protocol.RemovedSessions{Sessions: removed}, wireError(err)
}

func (b lifeService) Prune(ctx context.Context, caller server.Caller, id string) (protocol.PrunedSession, error) {
	pruning, err := b.sessions.Prune(ctx, origin(caller), id)
	if err != nil {
		return protocol.PrunedSession{}, wireError(err)
	}
	cursor, err := b.head(ctx, id)
	return protocol.PrunedSession{SessionID: id, Pruned: pruning.Pruned, First: pruning.First, Cursor: cursor}, wireError(err)
}

func wireFork(fork *session.Fork) *protocol.Fork {
	if fork == nil {
		return nil
	}
	return &protocol.Fork{SessionID: fork.Session, MessageID: fork.Message, Seq: fork.Seq}
}

func wireRetention(retention *session.Retention) *protocol.Retention {
	if retention == nil {
		return nil
	}
	return &protocol.Retention{Keep: string(retention.Keep), Days: retention.Days}
}

func kernelRetention(retention *protocol.Retention) *session.Retention {
	if retention == nil {
		return nil
	}
	return &session.Retention{Keep: session.RetentionKeep(retention.Keep), Days: retention.Days}
}
