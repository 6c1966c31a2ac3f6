package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

type listQuestionsInput struct {
	Session string `query:"session" doc:"Only those of this session and of the sessions under it."`
}

type answerInput struct {
	Key   string `header:"Idempotency-Key" maxLength:"128" doc:"Makes the command repeatable: the same key has one effect."`
	Trace string `header:"traceparent" doc:"W3C trace context."`
	ID    string `path:"id" doc:"The question's id."`
	Body  protocol.QuestionAnswer
}

type dismissInput struct {
	Key   string `header:"Idempotency-Key" maxLength:"128" doc:"Makes the command repeatable: the same key has one effect."`
	Trace string `header:"traceparent" doc:"W3C trace context."`
	ID    string `path:"id" doc:"The question's id."`
}

// questionRoutes registers what agents ask people, and the lists they keep.
func (s *Server) questionRoutes(api huma.API) {
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "list-questions", Method: http.MethodGet, Path: "/v1/questions", Summary: "Open questions, oldest first",
	}, func(ctx context.Context, in *listQuestionsInput) (*answer[protocol.QuestionList], error) {
		list, err := s.listQuestions(ctx, in.Session)
		return &answer[protocol.QuestionList]{list}, err
	})
	route(s, api, protocol.ScopeApprove, huma.Operation{
		OperationID: "answer-question", Method: http.MethodPost, Path: "/v1/questions/{id}/answer", Summary: "Answer a question; the first answer counts",
	}, func(ctx context.Context, in *answerInput) (*answer[protocol.QuestionReceipt], error) {
		receipt, err := s.backend.Questions.Answer(ctx, callerOf(ctx, in.Key, in.Trace), in.ID, in.Body)
		return &answer[protocol.QuestionReceipt]{receipt}, err
	})
	route(s, api, protocol.ScopeApprove, huma.Operation{
		OperationID: "dismiss-question", Method: http.MethodPost, Path: "/v1/questions/{id}/dismiss", Summary: "Close a question without an answer, which halts who asked",
	}, func(ctx context.Context, in *dismissInput) (*answer[protocol.QuestionReceipt], error) {
		receipt, err := s.backend.Questions.Dismiss(ctx, callerOf(ctx, in.Key, in.Trace), in.ID)
		return &answer[protocol.QuestionReceipt]{receipt}, err
	})
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "list-todos", Method: http.MethodGet, Path: "/v1/sessions/{id}/todos", Summary: "The session's list of what there is to do",
	}, func(ctx context.Context, in *sessionInput) (*answer[protocol.TodoList], error) {
		list, err := s.todos(ctx, in.ID)
		return &answer[protocol.TodoList]{list}, err
	})
}

func (s *Server) listQuestions(ctx context.Context, session string) (protocol.QuestionList, error) {
	list, err := s.backend.Questions.List(ctx, session)
	if list.Questions == nil {
		list.Questions = []protocol.Question{}
	}
	return list, err
}

func (s *Server) todos(ctx context.Context, session string) (protocol.TodoList, error) {
	list, err := s.backend.Questions.Todos(ctx, session)
	if list.Todos == nil {
		list.Todos = []protocol.Todo{}
	}
	return list, err
}
