package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

type listPermissionsInput struct {
	Session string `query:"session" doc:"Only those of this session."`
}

type replyInput struct {
	Key   string `header:"Idempotency-Key" maxLength:"128" doc:"Makes the command repeatable: the same key has one effect."`
	Trace string `header:"traceparent" doc:"W3C trace context."`
	ID    string `path:"id" doc:"The permission's id."`
	Body  protocol.PermissionReply
}

// permissionRoutes registers the questions that wait for a person. Answering is a
// right of its own, so that a bot need not be able to allow itself things.
func (s *Server) permissionRoutes(api huma.API) {
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "list-permissions", Method: http.MethodGet, Path: "/v1/permissions", Summary: "Open permissions, oldest first",
	}, func(ctx context.Context, in *listPermissionsInput) (*answer[protocol.PermissionList], error) {
		list, err := s.listPermissions(ctx, in.Session)
		return &answer[protocol.PermissionList]{list}, err
	})
	route(s, api, protocol.ScopeApprove, huma.Operation{
		OperationID: "reply-permission", Method: http.MethodPost, Path: "/v1/permissions/{id}/reply", Summary: "Answer a permission; the first answer counts",
	}, func(ctx context.Context, in *replyInput) (*answer[protocol.PermissionReceipt], error) {
		receipt, err := s.reply(ctx, callerOf(ctx, in.Key, in.Trace), in.ID, in.Body)
		return &answer[protocol.PermissionReceipt]{receipt}, err
	})
}

func (s *Server) listPermissions(ctx context.Context, session string) (protocol.PermissionList, error) {
	list, err := s.backend.Permissions.List(ctx, session)
	if list.Permissions == nil {
		list.Permissions = []protocol.Permission{}
	}
	return list, err
}

func (s *Server) reply(ctx context.Context, caller Caller, id string, reply protocol.PermissionReply) (protocol.PermissionReceipt, error) {
	switch reply.Reply {
	case protocol.AnswerOnce, protocol.AnswerAlways, protocol.AnswerReject:
		return s.backend.Permissions.Reply(ctx, caller, id, reply)
	default:
		return protocol.PermissionReceipt{}, protocol.Errorf(protocol.BadRequest, "reply must be once, always or reject")
	}
}
