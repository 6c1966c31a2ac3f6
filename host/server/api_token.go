package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

type createTokenInput struct {
	Key   string `header:"Idempotency-Key" maxLength:"128" doc:"The same key makes one token; its secret is told once, so the second answer is a conflict."`
	Trace string `header:"traceparent" doc:"W3C trace context."`
	Body  protocol.CreateToken
}

type tokenInput struct {
	ID string `path:"id" doc:"The token's id."`
}

type noInput struct{}

// tokenRoutes registers the management of tokens, for admins.
func (s *Server) tokenRoutes(api huma.API) {
	route(s, api, protocol.ScopeAdmin, huma.Operation{
		OperationID: "list-tokens", Method: http.MethodGet, Path: "/v1/tokens", Summary: "Tokens, without their secrets",
	}, func(ctx context.Context, _ *noInput) (*answer[protocol.TokenList], error) {
		list, err := s.backend.Tokens.List(ctx)
		return &answer[protocol.TokenList]{list}, err
	})
	route(s, api, protocol.ScopeAdmin, huma.Operation{
		OperationID: "create-token", Method: http.MethodPost, Path: "/v1/tokens", Summary: "Make a token; its secret is shown this once",
		DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *createTokenInput) (*answer[protocol.CreatedToken], error) {
		token, err := s.backend.Tokens.Create(ctx, callerOf(ctx, in.Key, in.Trace), in.Body)
		return &answer[protocol.CreatedToken]{token}, err
	})
	route(s, api, protocol.ScopeAdmin, huma.Operation{
		OperationID: "revoke-token", Method: http.MethodDelete, Path: "/v1/tokens/{id}", Summary: "Revoke a token; what is open under it ends",
	}, func(ctx context.Context, in *tokenInput) (*struct{}, error) {
		return nil, s.backend.Tokens.Revoke(ctx, in.ID)
	})
}

// healthRoutes registers the two probes, the only routes without authentication.
func (s *Server) healthRoutes(api huma.API) {
	health := protocol.Health{Status: "ok", Version: s.options.Version}
	route(s, api, "", huma.Operation{
		OperationID: "healthz", Method: http.MethodGet, Path: "/healthz", Summary: "Whether the server runs",
	}, func(context.Context, *noInput) (*answer[protocol.Health], error) {
		return &answer[protocol.Health]{health}, nil
	})
	route(s, api, "", huma.Operation{
		OperationID: "readyz", Method: http.MethodGet, Path: "/readyz", Summary: "Whether the host can do its work",
	}, func(ctx context.Context, _ *noInput) (*answer[protocol.Health], error) {
		if s.draining.Err() != nil {
			return nil, errDraining
		}
		if err := s.backend.Ready(ctx); err != nil {
			return nil, err
		}
		return &answer[protocol.Health]{health}, nil
	})
}
