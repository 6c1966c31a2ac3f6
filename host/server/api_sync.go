package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

type syncInput struct {
	Trace string `header:"traceparent" doc:"W3C trace context."`
	Body  protocol.SyncPlugins
}

// syncRoutes registers what keeps the plugins as a list says.
func (s *Server) syncRoutes(api huma.API) {
	route(s, api, protocol.ScopeAdmin, huma.Operation{
		OperationID: "sync-plugins", Method: http.MethodPost, Path: "/v1/plugins/sync",
		Summary: "Make the plugins those of the host's plinth.lock, without asking",
	}, func(ctx context.Context, in *syncInput) (*answer[protocol.PluginSync], error) {
		done, err := s.backend.Locks.Sync(ctx, callerOf(ctx, "", in.Trace), in.Body)
		return &answer[protocol.PluginSync]{done}, err
	})
	route(s, api, protocol.ScopeAdmin, huma.Operation{
		OperationID: "lock-plugins", Method: http.MethodPost, Path: "/v1/plugins/lock",
		Summary: "Write the host's plinth.lock as its plugins are now",
	}, func(ctx context.Context, _ *noInput) (*answer[protocol.PluginLock], error) {
		written, err := s.backend.Locks.Lock(ctx)
		return &answer[protocol.PluginLock]{written}, err
	})
}
