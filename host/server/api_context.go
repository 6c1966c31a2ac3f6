package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

// contextRoutes registers what tells of what models are told.
func (s *Server) contextRoutes(api huma.API) {
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "get-context", Method: http.MethodGet, Path: "/v1/sessions/{id}/context",
		Summary: "What the next request would be made of, and how much each part of it is",
	}, func(ctx context.Context, in *sessionInput) (*answer[protocol.ContextReport], error) {
		report, err := s.contextReport(ctx, in.ID)
		return &answer[protocol.ContextReport]{report}, err
	})
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "get-context-metrics", Method: http.MethodGet, Path: "/v1/context/metrics",
		Summary: "What the contexts of all sessions took since the host started",
	}, func(ctx context.Context, _ *struct{}) (*answer[protocol.ContextMetrics], error) {
		metrics, err := s.contextMetrics(ctx)
		return &answer[protocol.ContextMetrics]{metrics}, err
	})
}

func (s *Server) contextReport(ctx context.Context, session string) (protocol.ContextReport, error) {
	report, err := s.backend.Contexts.Report(ctx, session)
	for _, parts := range []*[]protocol.ContextPart{&report.Sources, &report.Tools} {
		if *parts == nil {
			*parts = []protocol.ContextPart{}
		}
	}
	if report.Messages == nil {
		report.Messages = []protocol.ContextMessage{}
	}
	return report, err
}

func (s *Server) contextMetrics(ctx context.Context) (protocol.ContextMetrics, error) {
	metrics, err := s.backend.Contexts.Metrics(ctx)
	if metrics.Sources == nil {
		metrics.Sources = []protocol.ContextSourceMetrics{}
	}
	return metrics, err
}
