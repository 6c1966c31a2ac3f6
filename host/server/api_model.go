package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

type listModelsInput struct {
	Provider string `query:"provider" doc:"Only models of this provider."`
	Refresh  bool   `query:"refresh" doc:"Ask the servers of providers that tell their models again."`
}

// modelRoutes registers what tells of the models.
func (s *Server) modelRoutes(api huma.API) {
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "list-models", Method: http.MethodGet, Path: "/v1/models", Summary: "Models that may be chosen, with what is known of them",
	}, func(ctx context.Context, in *listModelsInput) (*answer[protocol.ModelList], error) {
		list, err := s.listModels(ctx, protocol.ListModels{Provider: in.Provider, Refresh: in.Refresh})
		return &answer[protocol.ModelList]{list}, err
	})
}

func (s *Server) listModels(ctx context.Context, request protocol.ListModels) (protocol.ModelList, error) {
	list, err := s.backend.Models.List(ctx, request)
	if list.Models == nil {
		list.Models = []protocol.Model{}
	}
	return list, err
}
