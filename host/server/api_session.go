package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

type createSessionInput struct {
	Key   string `header:"Idempotency-Key" maxLength:"128" doc:"Makes the command repeatable: the same key has one effect."`
	Trace string `header:"traceparent" doc:"W3C trace context."`
	Body  protocol.CreateSession
}

type createSessionOutput struct {
	Status int
	Body   protocol.Session
}

type sessionInput struct {
	ID string `path:"id" doc:"The session's id."`
}

type sessionCommandInput struct {
	ID    string `path:"id" doc:"The session's id."`
	Key   string `header:"Idempotency-Key" maxLength:"128" doc:"Makes the command repeatable: the same key has one effect."`
	Trace string `header:"traceparent" doc:"W3C trace context."`
}

type listSessionsInput struct {
	Limit     int    `query:"limit" minimum:"1" maximum:"200" doc:"Sessions per page; 50 when absent."`
	Cursor    string `query:"cursor" doc:"next of the page before."`
	Directory string `query:"directory" doc:"Only sessions of this directory."`
	Text      string `query:"text" doc:"Only sessions whose title has this text."`
	Archived  bool   `query:"archived" doc:"Archived sessions too."`
	Slug      string `query:"slug" doc:"Only sessions of this slug, archived or not."`
}

type listMessagesInput struct {
	ID    string `path:"id" doc:"The session's id."`
	After int64  `query:"after" default:"-1" minimum:"-1" doc:"The seq to go on from; the beginning when absent."`
	Limit int    `query:"limit" minimum:"1" maximum:"200" doc:"Messages per page; 50 when absent."`

	Timeline bool `query:"timeline" doc:"Also the parts that people look at: files and mentions of prompts, retries, snapshots, steps."`
}

// sessionRoutes registers what creates, reads, stops and starts sessions.
func (s *Server) sessionRoutes(api huma.API) {
	route(s, api, protocol.ScopeWrite, huma.Operation{
		OperationID: "create-session", Method: http.MethodPost, Path: "/v1/sessions",
		Summary: "Create a session; a known id answers the session that has it", DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *createSessionInput) (*createSessionOutput, error) {
		session, created, err := s.create(ctx, callerOf(ctx, in.Key, in.Trace), in.Body)
		if err != nil {
			return nil, err
		}
		status := http.StatusOK
		if created {
			status = http.StatusCreated
		}
		return &createSessionOutput{Status: status, Body: session}, nil
	})
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "list-sessions", Method: http.MethodGet, Path: "/v1/sessions", Summary: "List sessions, newest first",
	}, func(ctx context.Context, in *listSessionsInput) (*answer[protocol.SessionList], error) {
		list, err := s.listSessions(ctx, protocol.ListSessions{
			Limit: in.Limit, Cursor: in.Cursor, Directory: in.Directory, Text: in.Text, Archived: in.Archived, Slug: in.Slug,
		})
		return &answer[protocol.SessionList]{list}, err
	})
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "get-session", Method: http.MethodGet, Path: "/v1/sessions/{id}", Summary: "One session",
	}, func(ctx context.Context, in *sessionInput) (*answer[protocol.Session], error) {
		session, err := s.backend.Sessions.Get(ctx, in.ID)
		return &answer[protocol.Session]{session}, err
	})
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "list-messages", Method: http.MethodGet, Path: "/v1/sessions/{id}/messages", Summary: "The transcript, by sequence",
	}, func(ctx context.Context, in *listMessagesInput) (*answer[protocol.MessageList], error) {
		list, err := s.listMessages(ctx, in.ID, protocol.ListMessages{After: &in.After, Limit: in.Limit, Timeline: in.Timeline})
		return &answer[protocol.MessageList]{list}, err
	})
	route(s, api, protocol.ScopeWrite, huma.Operation{
		OperationID: "interrupt", Method: http.MethodPost, Path: "/v1/sessions/{id}/interrupt",
		Summary: "Stop the session's work; answers when it has stopped. Pending prompts stay",
	}, func(ctx context.Context, in *sessionCommandInput) (*answer[protocol.CommandReceipt], error) {
		receipt, err := s.backend.Control.Interrupt(ctx, callerOf(ctx, in.Key, in.Trace), in.ID)
		return &answer[protocol.CommandReceipt]{receipt}, err
	})
	route(s, api, protocol.ScopeWrite, huma.Operation{
		OperationID: "resume", Method: http.MethodPost, Path: "/v1/sessions/{id}/resume",
		Summary: "Go on from the transcript as it is",
	}, func(ctx context.Context, in *sessionCommandInput) (*answer[protocol.CommandReceipt], error) {
		receipt, err := s.backend.Control.Resume(ctx, callerOf(ctx, in.Key, in.Trace), in.ID)
		return &answer[protocol.CommandReceipt]{receipt}, err
	})
	route(s, api, protocol.ScopeWrite, huma.Operation{
		OperationID: "compact", Method: http.MethodPost, Path: "/v1/sessions/{id}/compact",
		Summary: "Put a summary in the place of the older history: now, or at the next boundary of a session that works",
	}, func(ctx context.Context, in *sessionCommandInput) (*answer[protocol.CommandReceipt], error) {
		receipt, err := s.backend.Control.Compact(ctx, callerOf(ctx, in.Key, in.Trace), in.ID)
		return &answer[protocol.CommandReceipt]{receipt}, err
	})
}

// create refuses rules of a caller that may not answer what they answer.
func (s *Server) create(ctx context.Context, caller Caller, request protocol.CreateSession) (protocol.Session, bool, error) {
	if err := caller.mayRule(len(request.Rules) > 0); err != nil {
		return protocol.Session{}, false, err
	}
	return s.backend.Sessions.Create(ctx, caller, request)
}

// Sizes of pages of sessions and messages.
const (
	defaultPage = 50
	maxPage     = 200
)

// pageSize is the limit to use for the one a client asked for.
func pageSize(limit int) (int, error) {
	switch {
	case limit == 0:
		return defaultPage, nil
	case limit < 0 || limit > maxPage:
		return 0, protocol.Errorf(protocol.BadRequest, "limit must be 1 to %d", maxPage)
	default:
		return limit, nil
	}
}

func (s *Server) listSessions(ctx context.Context, request protocol.ListSessions) (protocol.SessionList, error) {
	limit, err := pageSize(request.Limit)
	if err != nil {
		return protocol.SessionList{}, err
	}
	request.Limit = limit
	list, err := s.backend.Sessions.List(ctx, request)
	if list.Sessions == nil {
		list.Sessions = []protocol.Session{}
	}
	return list, err
}

func (s *Server) listMessages(ctx context.Context, session string, request protocol.ListMessages) (protocol.MessageList, error) {
	limit, err := pageSize(request.Limit)
	if err != nil {
		return protocol.MessageList{}, err
	}
	request.Limit = limit
	list, err := s.backend.Sessions.Messages(ctx, session, request)
	if list.Messages == nil {
		list.Messages = []protocol.Message{}
	}
	return list, err
}
