package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

// Reverts return a session to an earlier message, and tell what it did to the files. A
// session that works is a conflict, and so is clearing or committing a revert of one that
// has none staged.
type Reverts interface {
	// Revert stages; the same revert again changes nothing.
	Revert(ctx context.Context, caller Caller, session string, request protocol.RevertSession) (protocol.Session, error)
	ClearRevert(ctx context.Context, caller Caller, session string) (protocol.Session, error)
	CommitRevert(ctx context.Context, caller Caller, session string) (protocol.Session, error)
	Changes(ctx context.Context, session string, request protocol.ListChanges) (protocol.ChangeList, error)
}

type revertInput struct {
	ID    string `path:"id" doc:"The session's id."`
	Key   string `header:"Idempotency-Key" maxLength:"128" doc:"Makes the command repeatable: the same key has one effect."`
	Trace string `header:"traceparent" doc:"W3C trace context."`
	Body  protocol.RevertSession
}

type changesInput struct {
	ID      string `path:"id" doc:"The session's id."`
	Message string `query:"message" doc:"Only what the steps of this message changed: a user's with its answer, or one step."`
	Patch   bool   `query:"patch" doc:"Unified diffs too."`
	Path    string `query:"path" doc:"Only this file."`
}

// revertRoutes registers what goes back, and what shows how far.
func (s *Server) revertRoutes(api huma.API) {
	route(s, api, protocol.ScopeWrite, huma.Operation{
		OperationID: "revert", Method: http.MethodPost, Path: "/v1/sessions/{id}/revert",
		Summary: "Stage a return to before a message, with the files; the next prompt commits it",
	}, func(ctx context.Context, in *revertInput) (*answer[protocol.Session], error) {
		session, err := s.revert(ctx, callerOf(ctx, in.Key, in.Trace), in.ID, in.Body)
		return &answer[protocol.Session]{session}, err
	})
	route(s, api, protocol.ScopeWrite, huma.Operation{
		OperationID: "clear-revert", Method: http.MethodDelete, Path: "/v1/sessions/{id}/revert",
		Summary: "Take a staged revert back, with the files",
	}, func(ctx context.Context, in *sessionCommandInput) (*answer[protocol.Session], error) {
		session, err := s.backend.Reverts.ClearRevert(ctx, callerOf(ctx, in.Key, in.Trace), in.ID)
		return &answer[protocol.Session]{session}, err
	})
	route(s, api, protocol.ScopeWrite, huma.Operation{
		OperationID: "commit-revert", Method: http.MethodPost, Path: "/v1/sessions/{id}/revert/commit",
		Summary: "Carry a staged revert out now: its messages are gone",
	}, func(ctx context.Context, in *sessionCommandInput) (*answer[protocol.Session], error) {
		session, err := s.backend.Reverts.CommitRevert(ctx, callerOf(ctx, in.Key, in.Trace), in.ID)
		return &answer[protocol.Session]{session}, err
	})
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "list-changes", Method: http.MethodGet, Path: "/v1/sessions/{id}/changes",
		Summary: "What the session, or one message, changed in the files",
	}, func(ctx context.Context, in *changesInput) (*answer[protocol.ChangeList], error) {
		list, err := s.changes(ctx, in.ID, protocol.ListChanges{Message: in.Message, Patch: in.Patch, Path: in.Path})
		return &answer[protocol.ChangeList]{list}, err
	})
}

// revertMethods are the same as requests of a live connection.
func (s *Server) revertMethods() map[string]method {
	return map[string]method{
		protocol.MethodSessionRevert: takes(protocol.ScopeWrite, func(ctx context.Context, caller Caller, p protocol.RevertParams) (any, string, string, error) {
			session, err := s.revert(ctx, caller, p.SessionID, p.RevertSession)
			return session, session.ID, session.Cursor, err
		}),
		protocol.MethodRevertClear: takes(protocol.ScopeWrite, func(ctx context.Context, caller Caller, p protocol.SessionParams) (any, string, string, error) {
			session, err := s.backend.Reverts.ClearRevert(ctx, caller, p.SessionID)
			return session, session.ID, session.Cursor, err
		}),
		protocol.MethodRevertCommit: takes(protocol.ScopeWrite, func(ctx context.Context, caller Caller, p protocol.SessionParams) (any, string, string, error) {
			session, err := s.backend.Reverts.CommitRevert(ctx, caller, p.SessionID)
			return session, session.ID, session.Cursor, err
		}),
		protocol.MethodSessionChanges: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, p protocol.ChangesParams) (any, string, string, error) {
			list, err := s.changes(ctx, p.SessionID, p.ListChanges)
			return list, p.SessionID, list.Cursor, err
		}),
	}
}

func (s *Server) revert(ctx context.Context, caller Caller, session string, request protocol.RevertSession) (protocol.Session, error) {
	if request.Message == "" {
		return protocol.Session{}, protocol.Errorf(protocol.BadRequest, "message is missing; name the first message that is to go")
	}
	return s.backend.Reverts.Revert(ctx, caller, session, request)
}

func (s *Server) changes(ctx context.Context, session string, request protocol.ListChanges) (protocol.ChangeList, error) {
	list, err := s.backend.Reverts.Changes(ctx, session, request)
	if list.Files == nil {
		list.Files = []protocol.FileChange{}
	}
	return list, err
}
