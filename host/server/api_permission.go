package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

type listPermissionsInput struct {
	Session string `query:"session" doc:"Only those of this session and of the sessions under it."`
}

type listApprovalsInput struct {
	Root string `query:"root" doc:"Only those of the project with this root."`
}

type approvalInput struct {
	Trace string `header:"traceparent" doc:"W3C trace context."`
	ID    string `path:"id" doc:"The approval's id."`
}

type replyInput struct {
	Key   string `header:"Idempotency-Key" maxLength:"128" doc:"Makes the command repeatable: the same key has one effect."`
	Trace string `header:"traceparent" doc:"W3C trace context."`
	ID    string `path:"id" doc:"The permission's id."`
	Body  protocol.PermissionReply
}

// permissionRoutes registers what waits for a person to allow it. Answering is a
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
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "list-approvals", Method: http.MethodGet, Path: "/v1/approvals", Summary: "What people allowed for always, oldest first",
	}, func(ctx context.Context, in *listApprovalsInput) (*answer[protocol.ApprovalList], error) {
		list, err := s.listApprovals(ctx, in.Root)
		return &answer[protocol.ApprovalList]{list}, err
	})
	route(s, api, protocol.ScopeApprove, huma.Operation{
		OperationID: "remove-approval", Method: http.MethodDelete, Path: "/v1/approvals/{id}", Summary: "Take an approval back; what it allowed is asked again",
	}, func(ctx context.Context, in *approvalInput) (*struct{}, error) {
		return nil, s.backend.Permissions.RemoveApproval(ctx, callerOf(ctx, "", in.Trace), in.ID)
	})
}

func (s *Server) listApprovals(ctx context.Context, root string) (protocol.ApprovalList, error) {
	list, err := s.backend.Permissions.Approvals(ctx, root)
	if list.Approvals == nil {
		list.Approvals = []protocol.Approval{}
	}
	return list, err
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
