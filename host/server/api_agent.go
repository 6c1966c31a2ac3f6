package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

// agentRoutes registers what tells of the agents.
func (s *Server) agentRoutes(api huma.API) {
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "list-agents", Method: http.MethodGet, Path: "/v1/agents", Summary: "Agents by name, with the default one",
	}, func(ctx context.Context, in *placeInput) (*answer[protocol.AgentList], error) {
		list, err := s.listAgents(ctx, in.in())
		return &answer[protocol.AgentList]{list}, err
	})
}

func (s *Server) listAgents(ctx context.Context, in protocol.In) (protocol.AgentList, error) {
	list, err := s.backend.Agents.List(ctx, in)
	if list.Agents == nil {
		list.Agents = []protocol.Agent{}
	}
	return list, err
}
