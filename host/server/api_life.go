package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

type forkSessionInput struct {
	ID    string `path:"id" doc:"The session's id."`
	Key   string `header:"Idempotency-Key" maxLength:"128" doc:"Makes the command repeatable: the same key has one effect."`
	Trace string `header:"traceparent" doc:"W3C trace context."`
	Body  protocol.ForkSession
}

// lifeRoutes registers what makes a session of another one, and what takes sessions and
// their history away.
func (s *Server) lifeRoutes(api huma.API) {
	route(s, api, protocol.ScopeWrite, huma.Operation{
		OperationID: "fork-session", Method: http.MethodPost, Path: "/v1/sessions/{id}/fork",
		Summary: "Make a session that goes on from a message of this one; a known id answers the fork that has it", DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *forkSessionInput) (*createSessionOutput, error) {
		session, created, err := s.backend.Life.Fork(ctx, callerOf(ctx, in.Key, in.Trace), in.ID, in.Body)
		if err != nil {
			return nil, err
		}
		status := http.StatusOK
		if created {
			status = http.StatusCreated
		}
		return &createSessionOutput{Status: status, Body: session}, nil
	})
	route(s, api, protocol.ScopeWrite, huma.Operation{
		OperationID: "remove-session", Method: http.MethodDelete, Path: "/v1/sessions/{id}",
		Summary: "Stop the session and all sessions under it, and remove them for good",
	}, func(ctx context.Context, in *sessionCommandInput) (*answer[protocol.RemovedSessions], error) {
		removed, err := s.remove(ctx, callerOf(ctx, in.Key, in.Trace), in.ID)
		return &answer[protocol.RemovedSessions]{removed}, err
	})
	route(s, api, protocol.ScopeWrite, huma.Operation{
		OperationID: "prune-session", Method: http.MethodPost, Path: "/v1/sessions/{id}/prune",
		Summary: "Take away the history that the session's model is not sent any more",
	}, func(ctx context.Context, in *sessionCommandInput) (*answer[protocol.PrunedSession], error) {
		pruned, err := s.backend.Life.Prune(ctx, callerOf(ctx, in.Key, in.Trace), in.ID)
		return &answer[protocol.PrunedSession]{pruned}, err
	})
}

func (s *Server) remove(ctx context.Context, caller Caller, session string) (protocol.RemovedSessions, error) {
	removed, err := s.backend.Life.Remove(ctx, caller, session)
	if removed.Sessions == nil {
		removed.Sessions = []string{}
	}
	return removed, err
}

// lifeMethods are what lifeRoutes are on the live connection.
func (s *Server) lifeMethods() map[string]method {
	return map[string]method{
		protocol.MethodSessionFork: takes(protocol.ScopeWrite, func(ctx context.Context, caller Caller, p protocol.ForkSessionParams) (any, string, string, error) {
			session, _, err := s.backend.Life.Fork(ctx, caller, p.SessionID, p.ForkSession)
			return session, session.ID, session.Cursor, err
		}),
		protocol.MethodSessionRemove: takes(protocol.ScopeWrite, func(ctx context.Context, caller Caller, p protocol.SessionParams) (any, string, string, error) {
			removed, err := s.remove(ctx, caller, p.SessionID)
			return removed, "", "", err
		}),
		protocol.MethodSessionPrune: takes(protocol.ScopeWrite, func(ctx context.Context, caller Caller, p protocol.SessionParams) (any, string, string, error) {
			pruned, err := s.backend.Life.Prune(ctx, caller, p.SessionID)
			return pruned, pruned.SessionID, pruned.Cursor, err
		}),
	}
}
