package server

import (
	"context"
	"maps"

	"github.com/plinthhost/plinth/client/protocol"
)

// method is one request of the live connection. It answers the result, and the
// session and cursor the result was read at, which may be empty.
type method struct {
	scope protocol.Scope
	call  func(ctx context.Context, caller Caller, params protocol.Raw) (result any, session, cursor string, err error)
}

// takes makes a method of a function with typed parameters, decoded strictly.
func takes[P any](scope protocol.Scope, f func(ctx context.Context, caller Caller, params P) (any, string, string, error)) method {
	return method{scope, func(ctx context.Context, caller Caller, raw protocol.Raw) (any, string, string, error) {
		var params P
		if len(raw) > 0 {
			if err := protocol.Decode(raw, &params); err != nil {
				return nil, "", "", err
			}
		}
		return f(ctx, caller, params)
	}}
}

// methodTable holds what a req can ask. Each does what its HTTP route does.
func (s *Server) methodTable() map[string]method {
	methods := map[string]method{
		protocol.MethodSessionCreate: takes(protocol.ScopeWrite, func(ctx context.Context, caller Caller, p protocol.CreateSession) (any, string, string, error) {
			session, _, err := s.create(ctx, caller, p)
			return session, session.ID, session.Cursor, err
		}),
		protocol.MethodSessionGet: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, p protocol.SessionParams) (any, string, string, error) {
			session, err := s.backend.Sessions.Get(ctx, p.SessionID)
			return session, session.ID, session.Cursor, err
		}),
		protocol.MethodSessionsList: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, p protocol.ListSessions) (any, string, string, error) {
			list, err := s.listSessions(ctx, p)
			return list, "", "", err
		}),
		protocol.MethodSessionMessages: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, p protocol.MessagesParams) (any, string, string, error) {
			list, err := s.listMessages(ctx, p.SessionID, p.ListMessages)
			return list, p.SessionID, list.Cursor, err
		}),
		protocol.MethodSessionPrompt: takes(protocol.ScopeWrite, func(ctx context.Context, caller Caller, p protocol.PromptParams) (any, string, string, error) {
			receipt, err := s.admit(ctx, caller, p.SessionID, p.Prompt)
			return receipt, receipt.SessionID, receipt.Cursor, err
		}),
		protocol.MethodSessionExpand: takes(protocol.ScopeWrite, func(ctx context.Context, caller Caller, p protocol.PromptParams) (any, string, string, error) {
			expansion, err := s.backend.Prompts.Expand(ctx, caller, p.SessionID, p.Prompt)
			return expansion, "", "", err
		}),
		protocol.MethodSessionShell: takes(protocol.ScopeAdmin, func(ctx context.Context, caller Caller, p protocol.ShellParams) (any, string, string, error) {
			run, err := s.backend.Shells.Run(ctx, caller, p.SessionID, p.RunShell)
			return run, run.SessionID, run.Cursor, err
		}),
		protocol.MethodSessionInbox: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, p protocol.SessionParams) (any, string, string, error) {
			inbox, err := s.inbox(ctx, p.SessionID)
			return inbox, p.SessionID, inbox.Cursor, err
		}),
		protocol.MethodSessionInterrupt: takes(protocol.ScopeWrite, func(ctx context.Context, caller Caller, p protocol.SessionParams) (any, string, string, error) {
			receipt, err := s.backend.Control.Interrupt(ctx, caller, p.SessionID)
			return receipt, receipt.SessionID, receipt.Cursor, err
		}),
		protocol.MethodSessionResume: takes(protocol.ScopeWrite, func(ctx context.Context, caller Caller, p protocol.SessionParams) (any, string, string, error) {
			receipt, err := s.backend.Control.Resume(ctx, caller, p.SessionID)
			return receipt, receipt.SessionID, receipt.Cursor, err
		}),
		protocol.MethodSessionCompact: takes(protocol.ScopeWrite, func(ctx context.Context, caller Caller, p protocol.SessionParams) (any, string, string, error) {
			receipt, err := s.backend.Control.Compact(ctx, caller, p.SessionID)
			return receipt, receipt.SessionID, receipt.Cursor, err
		}),
		protocol.MethodSessionChange: takes(protocol.ScopeWrite, func(ctx context.Context, caller Caller, p protocol.ChangeSessionParams) (any, string, string, error) {
			session, err := s.changeSession(ctx, caller, p.SessionID, p.ChangeSession)
			return session, session.ID, session.Cursor, err
		}),
		protocol.MethodSessionMove: takes(protocol.ScopeWrite, func(ctx context.Context, caller Caller, p protocol.MoveSessionParams) (any, string, string, error) {
			session, err := s.backend.Control.Move(ctx, caller, p.SessionID, p.MoveSession)
			return session, session.ID, session.Cursor, err
		}),
		protocol.MethodSessionChildren: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, p protocol.SessionParams) (any, string, string, error) {
			list, err := s.children(ctx, p.SessionID)
			return list, "", "", err
		}),
		protocol.MethodSessionUsage: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, p protocol.SessionParams) (any, string, string, error) {
			usage, err := s.backend.Reports.Usage(ctx, p.SessionID)
			return usage, p.SessionID, usage.Cursor, err
		}),
		protocol.MethodSessionContext: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, p protocol.SessionParams) (any, string, string, error) {
			report, err := s.contextReport(ctx, p.SessionID)
			return report, p.SessionID, report.Cursor, err
		}),
		protocol.MethodContextMetrics: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, _ protocol.NoParams) (any, string, string, error) {
			metrics, err := s.contextMetrics(ctx)
			return metrics, "", "", err
		}),
		protocol.MethodInboxCancel: takes(protocol.ScopeWrite, func(ctx context.Context, caller Caller, p protocol.InboxParams) (any, string, string, error) {
			receipt, err := s.backend.Waiting.Cancel(ctx, caller, p.SessionID, p.ID)
			return receipt, receipt.SessionID, receipt.Cursor, err
		}),
		protocol.MethodInboxChange: takes(protocol.ScopeWrite, func(ctx context.Context, caller Caller, p protocol.ChangePromptParams) (any, string, string, error) {
			receipt, err := s.backend.Waiting.Change(ctx, caller, p.SessionID, p.ID, p.ChangePrompt)
			return receipt, receipt.SessionID, receipt.Cursor, err
		}),
		protocol.MethodPermissionsList: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, p protocol.PermissionsParams) (any, string, string, error) {
			list, err := s.listPermissions(ctx, p.SessionID)
			return list, "", "", err
		}),
		protocol.MethodPermissionReply: takes(protocol.ScopeApprove, func(ctx context.Context, caller Caller, p protocol.ReplyParams) (any, string, string, error) {
			receipt, err := s.reply(ctx, caller, p.ID, p.PermissionReply)
			return receipt, receipt.SessionID, receipt.Cursor, err
		}),
		protocol.MethodQuestionsList: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, p protocol.QuestionsParams) (any, string, string, error) {
			list, err := s.listQuestions(ctx, p.SessionID)
			return list, "", "", err
		}),
		protocol.MethodQuestionAnswer: takes(protocol.ScopeApprove, func(ctx context.Context, caller Caller, p protocol.AnswerParams) (any, string, string, error) {
			receipt, err := s.backend.Questions.Answer(ctx, caller, p.ID, p.QuestionAnswer)
			return receipt, receipt.SessionID, receipt.Cursor, err
		}),
		protocol.MethodQuestionDismiss: takes(protocol.ScopeApprove, func(ctx context.Context, caller Caller, p protocol.DismissParams) (any, string, string, error) {
			receipt, err := s.backend.Questions.Dismiss(ctx, caller, p.ID)
			return receipt, receipt.SessionID, receipt.Cursor, err
		}),
		protocol.MethodApprovalsList: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, p protocol.ApprovalsParams) (any, string, string, error) {
			list, err := s.listApprovals(ctx, p.Root)
			return list, "", "", err
		}),
		protocol.MethodApprovalRemove: takes(protocol.ScopeApprove, func(ctx context.Context, caller Caller, p protocol.ApprovalParams) (any, string, string, error) {
			return struct{}{}, "", "", s.backend.Permissions.RemoveApproval(ctx, caller, p.ID)
		}),
		protocol.MethodSessionTodos: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, p protocol.SessionParams) (any, string, string, error) {
			list, err := s.todos(ctx, p.SessionID)
			return list, p.SessionID, list.Cursor, err
		}),
		protocol.MethodPluginsSync: takes(protocol.ScopeAdmin, func(ctx context.Context, caller Caller, p protocol.SyncPlugins) (any, string, string, error) {
			done, err := s.backend.Locks.Sync(ctx, caller, p)
			return done, "", "", err
		}),
		protocol.MethodPluginsLock: takes(protocol.ScopeAdmin, func(ctx context.Context, _ Caller, _ protocol.NoParams) (any, string, string, error) {
			written, err := s.backend.Locks.Lock(ctx)
			return written, "", "", err
		}),
		protocol.MethodAgentsList: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, p protocol.In) (any, string, string, error) {
			list, err := s.listAgents(ctx, p)
			return list, "", "", err
		}),
		protocol.MethodCommandsList: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, p protocol.In) (any, string, string, error) {
			list, err := s.commands(ctx, p)
			return list, "", "", err
		}),
		protocol.MethodSkillsList: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, p protocol.In) (any, string, string, error) {
			list, err := s.listSkills(ctx, p)
			return list, "", "", err
		}),
		protocol.MethodModelsList: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, p protocol.ListModels) (any, string, string, error) {
			list, err := s.listModels(ctx, p)
			return list, "", "", err
		}),
	}
	maps.Copy(methods, s.lifeMethods())
	maps.Copy(methods, s.revertMethods())
	maps.Copy(methods, s.pluginMethods())
	return methods
}

// call runs one request and makes its answer. It returns when the answer's cursor
// can be read.
func (c *conn) call(ctx context.Context, req *protocol.Req) protocol.Res {
	s := c.server
	m, ok := s.methods[req.Method]
	if !ok {
		return failed(req.ID, protocol.Errorf(protocol.BadRequest, "there is no method %q", clip(req.Method)))
	}
	if err := c.principal.authorise(m.scope); err != nil {
		return failed(req.ID, s.wireError(req.Method, err))
	}
	result, session, cursor, err := m.call(ctx, Caller{Actor: c.principal.Actor, Key: req.Key, Approves: c.principal.allows(protocol.ScopeApprove)}, req.Params)
	if err == nil {
		err = s.awaitCursor(ctx, session, cursor)
	}
	if err != nil {
		return failed(req.ID, s.wireError(req.Method, err))
	}
	body, err := protocol.Encode(result)
	if err != nil {
		return failed(req.ID, s.wireError(req.Method, err))
	}
	if len(body) > protocol.MaxFrame-1024 {
		return failed(req.ID, protocol.Errorf(protocol.TooLarge, "the result does not fit a frame of %d bytes; ask for less with limit, or over HTTP", protocol.MaxFrame))
	}
	return protocol.Res{T: "res", ID: req.ID, OK: true, Cursor: cursor, Result: body}
}

// awaitCursor returns when the log can be read up to the cursor.
func (s *Server) awaitCursor(ctx context.Context, session, cursor string) error {
	if session == "" || cursor == "" {
		return nil
	}
	at, err := protocol.ParseCursor(cursor)
	if err != nil {
		return err
	}
	readable := func() (bool, error) {
		page, err := s.backend.Events.Read(ctx, session, max(at.Seq-1, -1), 1)
		return page.Head >= at.Seq, err
	}
	if ok, err := readable(); ok || err != nil {
		return err
	}
	wake := s.backend.Events.Watch(session)
	defer wake.Close()
	for {
		if ok, err := readable(); ok || err != nil {
			return err
		}
		select {
		case <-wake.C():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// clip shortens what a client sent before it is repeated to it.
func clip(text string) string {
	if len(text) > 64 {
		return text[:64] + "…"
	}
	return text
}
