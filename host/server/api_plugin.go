package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

// pluginRoutes registers what tells of the plugins, those that were refused with
// the reason.
func (s *Server) pluginRoutes(api huma.API) {
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "list-plugins", Method: http.MethodGet, Path: "/v1/plugins", Summary: "Plugins with their state and last error",
	}, func(ctx context.Context, _ *noInput) (*answer[protocol.PluginList], error) {
		list, err := s.listPlugins(ctx)
		return &answer[protocol.PluginList]{list}, err
	})
}

func (s *Server) listPlugins(ctx context.Context) (protocol.PluginList, error) {
	list, err := s.backend.Plugins.List(ctx)
	if list.Plugins == nil {
		list.Plugins = []protocol.Plugin{}
	}
	return list, err
}
