package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

type promptInput struct {
	ID    string `path:"id" doc:"The session's id."`
	Key   string `header:"Idempotency-Key" maxLength:"128" doc:"Makes the command repeatable: the same key has one effect."`
	Trace string `header:"traceparent" doc:"W3C trace context."`
	Wait  string `query:"wait" enum:"settled" doc:"settled: answer when the work on the prompt has ended."`
	Body  protocol.Prompt
}

type expandInput struct {
	ID    string `path:"id" doc:"The session's id."`
	Trace string `header:"traceparent" doc:"W3C trace context."`
	Body  protocol.Prompt
}

type promptOutput struct {
	Status int
	Body   protocol.PromptAnswer
}

// promptRoutes registers what admits prompts.
func (s *Server) promptRoutes(api huma.API) {
	route(s, api, protocol.ScopeWrite, huma.Operation{
		OperationID: "prompt", Method: http.MethodPost, Path: "/v1/sessions/{id}/prompts",
		Summary: "Admit a prompt; with wait=settled answer its result", DefaultStatus: http.StatusAccepted,
	}, func(ctx context.Context, in *promptInput) (*promptOutput, error) {
		receipt, err := s.admit(ctx, callerOf(ctx, in.Key, in.Trace), in.ID, in.Body)
		if err != nil {
			return nil, err
		}
		if in.Wait == "" {
			return &promptOutput{http.StatusAccepted, protocol.PromptAnswer{Receipt: receipt}}, nil
		}
		result, err := s.awaitPrompt(ctx, receipt)
		if err != nil {
			return nil, err
		}
		return &promptOutput{http.StatusOK, protocol.PromptAnswer{Receipt: receipt, Result: &result}}, nil
	})
	route(s, api, protocol.ScopeWrite, huma.Operation{
		OperationID: "expand-prompt", Method: http.MethodPost, Path: "/v1/sessions/{id}/expand",
		Summary: "What a prompt would be, expanded and not admitted; nobody is asked, so only what is allowed is read and run",
	}, func(ctx context.Context, in *expandInput) (*answer[protocol.Expansion], error) {
		expansion, err := s.backend.Prompts.Expand(ctx, callerOf(ctx, "", in.Trace), in.ID, in.Body)
		return &answer[protocol.Expansion]{expansion}, err
	})
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "list-inbox", Method: http.MethodGet, Path: "/v1/sessions/{id}/inbox", Summary: "Prompts that wait, oldest first",
	}, func(ctx context.Context, in *sessionInput) (*answer[protocol.Inbox], error) {
		inbox, err := s.inbox(ctx, in.ID)
		return &answer[protocol.Inbox]{inbox}, err
	})
}

// admit hands the prompt on. A request key that is a message id is the prompt's. What is
// asked for a prompt that is expanded waits as long as the caller's token and the server
// last.
func (s *Server) admit(ctx context.Context, caller Caller, session string, prompt protocol.Prompt) (protocol.Receipt, error) {
	if prompt.ID == "" && len(caller.Key) > 4 && caller.Key[:4] == "msg_" {
		prompt.ID = caller.Key
	}
	if !prompt.Expand && prompt.Command == nil {
		return s.backend.Prompts.Admit(ctx, caller, session, prompt)
	}
	return guarded(ctx, s, func(ctx context.Context) (protocol.Receipt, error) {
		return s.backend.Prompts.Admit(ctx, caller, session, prompt)
	})
}

// guarded calls what may wait for long, as long as the caller's token and the server last.
func guarded[T any](ctx context.Context, s *Server, call func(context.Context) (T, error)) (T, error) {
	var none T
	guarded, stop, err := s.guard(ctx, principalOf(ctx))
	if err != nil {
		return none, err
	}
	defer stop()
	answer, err := call(guarded)
	if err != nil && guarded.Err() != nil {
		err = context.Cause(guarded)
	}
	return answer, err
}

// awaitPrompt waits as long as the caller's token and the server last.
func (s *Server) awaitPrompt(ctx context.Context, receipt protocol.Receipt) (protocol.PromptResult, error) {
	return guarded(ctx, s, func(ctx context.Context) (protocol.PromptResult, error) {
		return s.backend.Prompts.Wait(ctx, receipt.SessionID, receipt.ID)
	})
}

func (s *Server) inbox(ctx context.Context, session string) (protocol.Inbox, error) {
	inbox, err := s.backend.Prompts.Inbox(ctx, session)
	if inbox.Pending == nil {
		inbox.Pending = []protocol.Receipt{}
	}
	return inbox, err
}
