package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

type shellInput struct {
	ID    string `path:"id" doc:"The session's id."`
	Key   string `header:"Idempotency-Key" maxLength:"128" doc:"Makes the command repeatable: the same key has one effect."`
	Trace string `header:"traceparent" doc:"W3C trace context."`
	Wait  string `query:"wait" enum:"ended" doc:"ended: answer when the command has ended."`
	Body  protocol.RunShell
}

type shellOutput struct {
	Status int
	Body   protocol.ShellRun
}

// shellRoutes registers what people run. It needs the right to everything: a command line
// does what the host's user may, and no permission rule looks at it.
func (s *Server) shellRoutes(api huma.API) {
	route(s, api, protocol.ScopeAdmin, huma.Operation{
		OperationID: "run-shell", Method: http.MethodPost, Path: "/v1/sessions/{id}/shell",
		Summary: "Run a command line where the session works, as the host's user; the model reads it with its output", DefaultStatus: http.StatusAccepted,
	}, func(ctx context.Context, in *shellInput) (*shellOutput, error) {
		run, err := s.backend.Shells.Run(ctx, callerOf(ctx, in.Key, in.Trace), in.ID, in.Body)
		if err != nil || in.Wait == "" {
			return &shellOutput{http.StatusAccepted, run}, err
		}
		run, err = guarded(ctx, s, func(ctx context.Context) (protocol.ShellRun, error) {
			return s.backend.Shells.Wait(ctx, in.ID, run.ID)
		})
		return &shellOutput{http.StatusOK, run}, err
	})
}
