package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

type waitingInput struct {
	ID     string `path:"id" doc:"The session's id."`
	Prompt string `path:"prompt" doc:"The prompt's id."`
	Key    string `header:"Idempotency-Key" maxLength:"128" doc:"Makes the command repeatable: the same key has one effect."`
	Trace  string `header:"traceparent" doc:"W3C trace context."`
}

type changePromptInput struct {
	ID     string `path:"id" doc:"The session's id."`
	Prompt string `path:"prompt" doc:"The prompt's id."`
	Key    string `header:"Idempotency-Key" maxLength:"128" doc:"Makes the command repeatable: the same key has one effect."`
	Trace  string `header:"traceparent" doc:"W3C trace context."`
	Body   protocol.ChangePrompt
}

// waitingRoutes registers what changes prompts that wait.
func (s *Server) waitingRoutes(api huma.API) {
	route(s, api, protocol.ScopeWrite, huma.Operation{
		OperationID: "cancel-prompt", Method: http.MethodDelete, Path: "/v1/sessions/{id}/inbox/{prompt}",
		Summary: "Take a prompt that waits out of the inbox",
	}, func(ctx context.Context, in *waitingInput) (*answer[protocol.Receipt], error) {
		receipt, err := s.backend.Waiting.Cancel(ctx, callerOf(ctx, in.Key, in.Trace), in.ID, in.Prompt)
		return &answer[protocol.Receipt]{receipt}, err
	})
	route(s, api, protocol.ScopeWrite, huma.Operation{
		OperationID: "change-prompt", Method: http.MethodPatch, Path: "/v1/sessions/{id}/inbox/{prompt}",
		Summary: "Edit a prompt that waits, move it between steer and queue, or put it before another",
	}, func(ctx context.Context, in *changePromptInput) (*answer[protocol.Receipt], error) {
		receipt, err := s.backend.Waiting.Change(ctx, callerOf(ctx, in.Key, in.Trace), in.ID, in.Prompt, in.Body)
		return &answer[protocol.Receipt]{receipt}, err
	})
}
