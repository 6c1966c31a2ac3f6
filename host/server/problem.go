package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

// wireError answers err as a client sees it. What is not meant for clients is
// logged with the operation.
func (s *Server) wireError(operation string, err error) *protocol.Error {
	switch {
	case errors.Is(err, errRevoked):
		return protocol.Errorf(protocol.Unauthenticated, "%s", errRevoked.Error())
	case errors.Is(err, errDraining):
		return protocol.Errorf(protocol.Unavailable, "%s", errDraining.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return protocol.Errorf(protocol.Unavailable, "the request was given up")
	}
	wire := protocol.AsError(err)
	if wire.Code == protocol.Internal {
		s.logger.Error("request failed", "operation", operation, "error", err)
	}
	return wire
}

// writeProblem answers with a problem, outside huma.
func writeProblem(w http.ResponseWriter, err *protocol.Error) {
	body, encodeErr := protocol.Encode(err.Problem())
	if encodeErr != nil {
		http.Error(w, "internal", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(err.Code.Status())
	w.Write(body) // the client is gone when this fails
}

// statusError is a problem as huma answers it from a handler.
type statusError struct{ protocol.Problem }

func (e *statusError) Error() string { return e.Detail }

// GetStatus is huma's question for the HTTP status.
func (e *statusError) GetStatus() int { return e.Status }

// ContentType is huma's question for the media type.
func (e *statusError) ContentType(string) string { return "application/problem+json" }

// ownProblems turns huma's own errors, of parameters and bodies, into problems
// with a code. It is a huma transformer.
func ownProblems(_ huma.Context, _ string, value any) (any, error) {
	model, ok := value.(*huma.ErrorModel)
	if !ok {
		return value, nil
	}
	details := make([]string, 0, len(model.Errors))
	for _, detail := range model.Errors {
		where := ""
		if detail.Location != "" && detail.Location != "body" {
			where = detail.Location + ": "
		}
		details = append(details, where+strings.TrimPrefix(detail.Message, string(protocol.BadRequest)+": "))
	}
	text := strings.Join(details, "; ")
	if text == "" {
		text = model.Detail
	}
	return protocol.Errorf(codeOf(model.Status), "%s", text).Problem(), nil
}

// codeOf is the code of a status that huma chose.
func codeOf(status int) protocol.Code {
	switch {
	case status == http.StatusRequestEntityTooLarge:
		return protocol.TooLarge
	case status >= http.StatusInternalServerError:
		return protocol.Internal
	default:
		return protocol.BadRequest
	}
}

// ownStatus makes the status of huma's own errors the one of their code. It is a
// huma middleware.
func ownStatus(ctx huma.Context, next func(huma.Context)) { next(statusContext{ctx}) }

// humaContext has another name than its method Context, so that it can be embedded.
type humaContext huma.Context

type statusContext struct{ humaContext }

func (c statusContext) SetStatus(status int) {
	if status == http.StatusUnprocessableEntity {
		status = protocol.BadRequest.Status()
	}
	c.humaContext.SetStatus(status)
}

// Unwrap lets the adapter find its own context.
func (c statusContext) Unwrap() huma.Context { return c.humaContext }

// notFound answers what no route matches.
func notFound(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if len(path) > 128 {
		path = path[:128] + "…"
	}
	writeProblem(w, protocol.Errorf(protocol.NotFound, "%s", fmt.Sprintf("there is no route %s %s", r.Method, path)))
}
