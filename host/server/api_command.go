package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

// commandRoutes registers the list of commands.
func (s *Server) commandRoutes(api huma.API) {
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "list-commands", Method: http.MethodGet, Path: "/v1/commands", Summary: "Prompts that were written beforehand, by name",
	}, func(ctx context.Context, in *placeInput) (*answer[protocol.CommandList], error) {
		list, err := s.commands(ctx, in.in())
		return &answer[protocol.CommandList]{list}, err
	})
}

func (s *Server) commands(ctx context.Context, in protocol.In) (protocol.CommandList, error) {
	list, err := s.backend.Commands.List(ctx, in)
	if list.Commands == nil {
		list.Commands = []protocol.Command{}
	}
	return list, err
}
