package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

type changeSessionInput struct {
	ID    string `path:"id" doc:"The session's id."`
	Key   string `header:"Idempotency-Key" maxLength:"128" doc:"Makes the command repeatable: the same key has one effect."`
	Trace string `header:"traceparent" doc:"W3C trace context."`
	Body  protocol.ChangeSession
}

type moveSessionInput struct {
	ID    string `path:"id" doc:"The session's id."`
	Key   string `header:"Idempotency-Key" maxLength:"128" doc:"Makes the command repeatable: the same key has one effect."`
	Trace string `header:"traceparent" doc:"W3C trace context."`
	Body  protocol.MoveSession
}

// changeRoutes registers what says with what a session goes on, and what it led to.
func (s *Server) changeRoutes(api huma.API) {
	route(s, api, protocol.ScopeWrite, huma.Operation{
		OperationID: "change-session", Method: http.MethodPatch, Path: "/v1/sessions/{id}",
		Summary: "Switch agent or model, replace rules (which needs approve) or budgets, from the next turn on; name, archive, say what is kept",
	}, func(ctx context.Context, in *changeSessionInput) (*answer[protocol.Session], error) {
		session, err := s.changeSession(ctx, callerOf(ctx, in.Key, in.Trace), in.ID, in.Body)
		return &answer[protocol.Session]{session}, err
	})
	route(s, api, protocol.ScopeWrite, huma.Operation{
		OperationID: "move-session", Method: http.MethodPost, Path: "/v1/sessions/{id}/move",
		Summary: "Work in another directory from the next turn on",
	}, func(ctx context.Context, in *moveSessionInput) (*answer[protocol.Session], error) {
		session, err := s.backend.Control.Move(ctx, callerOf(ctx, in.Key, in.Trace), in.ID, in.Body)
		return &answer[protocol.Session]{session}, err
	})
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "list-children", Method: http.MethodGet, Path: "/v1/sessions/{id}/children",
		Summary: "Sessions that calls of this one made, oldest first",
	}, func(ctx context.Context, in *sessionInput) (*answer[protocol.SessionList], error) {
		list, err := s.children(ctx, in.ID)
		return &answer[protocol.SessionList]{list}, err
	})
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "get-usage", Method: http.MethodGet, Path: "/v1/sessions/{id}/usage",
		Summary: "What the session and its children have used and spent",
	}, func(ctx context.Context, in *sessionInput) (*answer[protocol.SessionUsage], error) {
		usage, err := s.backend.Reports.Usage(ctx, in.ID)
		return &answer[protocol.SessionUsage]{usage}, err
	})
}

func (s *Server) changeSession(ctx context.Context, caller Caller, session string, change protocol.ChangeSession) (protocol.Session, error) {
	if err := caller.mayRule(change.Rules != nil); err != nil {
		return protocol.Session{}, err
	}
	return s.backend.Control.Change(ctx, caller, session, change)
}

// mayRule refuses rules of a caller that may not answer the permissions they answer.
func (c Caller) mayRule(rules bool) error {
	if rules && !c.Approves {
		return protocol.Errorf(protocol.Forbidden, "rules need a token with the scope %s", protocol.ScopeApprove)
	}
	return nil
}

func (s *Server) children(ctx context.Context, session string) (protocol.SessionList, error) {
	list, err := s.backend.Reports.Children(ctx, session)
	if list.Sessions == nil {
		list.Sessions = []protocol.Session{}
	}
	return list, err
}
