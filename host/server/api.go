package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/plinthhost/plinth/client/protocol"
)

// routes registers everything the server offers.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	api := humago.New(mux, s.apiConfig())
	api.UseMiddleware(ownStatus)
	s.sessionRoutes(api)
	s.promptRoutes(api)
	s.commandRoutes(api)
	s.shellRoutes(api)
	s.blobRoutes(api)
	s.waitingRoutes(api)
	s.changeRoutes(api)
	s.lifeRoutes(api)
	s.revertRoutes(api)
	s.permissionRoutes(api)
	s.questionRoutes(api)
	s.pluginRoutes(api)
	s.syncRoutes(api)
	s.agentRoutes(api)
	s.modelRoutes(api)
	s.skillRoutes(api)
	s.contextRoutes(api)
	s.tokenRoutes(api)
	s.transferRoutes(api)
	s.rehearseRoutes(api)
	s.watchRoutes(api)
	s.healthRoutes(api)
	s.eventRoute(api)
	mux.HandleFunc("GET "+protocol.LivePath, s.serveLive)
	mux.Handle("GET /v1/openapi.json", openAPI(api))
	mux.HandleFunc("/", notFound)
	return mux
}

// apiConfig is huma without the routes and links it would add by itself, and with
// a decoder that refuses unknown fields.
func (s *Server) apiConfig() huma.Config {
	config := huma.DefaultConfig("Plinth", s.options.Version)
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.CreateHooks = nil
	config.Transformers = []huma.Transformer{ownProblems}
	config.RejectUnknownQueryParameters = true
	format := huma.Format{
		Marshal: func(w io.Writer, v any) error {
			encoder := json.NewEncoder(w)
			encoder.SetEscapeHTML(false)
			return encoder.Encode(v)
		},
		Unmarshal: protocol.Decode,
	}
	config.Formats = map[string]huma.Format{"application/json": format, "json": format} // the second is what +json ends in
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
	config.Security = []map[string][]string{{"token": {}}}
	return config
}

// openAPI serves the description, which is complete by now.
func openAPI(api huma.API) http.Handler {
	schemas := api.OpenAPI().Components.Schemas.Map()
	delete(schemas, "ErrorModel") // huma's own errors leave as Problem
	delete(schemas, "ErrorDetail")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		if err := protocol.EncodeTo(&body, api.OpenAPI()); err != nil {
			writeProblem(w, protocol.Errorf(protocol.Internal, "the API description cannot be encoded"))
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		w.Write(body.Bytes()) // the client is gone when this fails
	})
}

// answer is a response with a body.
type answer[T any] struct {
	Body T
}

// route registers one operation that needs the scope. Bodies were buffered and
// bounded by the checks; they are decoded strictly, not by schema.
func route[I, O any](s *Server, api huma.API, scope protocol.Scope, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	op.SkipValidateBody = true
	op.MaxBodyBytes, op.BodyReadTimeout = -1, -1
	op.Middlewares = append(op.Middlewares, s.requireScope(scope))
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	op.Responses["default"] = &huma.Response{
		Description: "Error",
		Content: map[string]*huma.MediaType{"application/problem+json": {
			Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[protocol.Problem](), true, "Problem"),
		}},
	}
	if scope != "" {
		op.Description = "Needs the scope " + string(scope) + "."
	}
	huma.Register(api, op, func(ctx context.Context, input *I) (*O, error) {
		output, err := handler(ctx, input)
		if err != nil {
			return nil, &statusError{s.wireError(op.OperationID, err).Problem()}
		}
		return output, nil
	})
}

// requireScope refuses a caller without the right, before anything is parsed.
func (s *Server) requireScope(scope protocol.Scope) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if err := principalOf(ctx.Context()).authorise(scope); err != nil {
			_, w := humago.Unwrap(ctx)
			writeProblem(w, s.wireError("authorise", err))
			return
		}
		next(ctx)
	}
}

// callerOf is who makes the command, with its headers Idempotency-Key and
// traceparent.
func callerOf(ctx context.Context, key, trace string) Caller {
	principal := principalOf(ctx)
	return Caller{Actor: principal.Actor, Key: key, Trace: traceparent(trace), Approves: principal.allows(protocol.ScopeApprove)}
}

// traceparent answers the header when it is well formed, else nothing.
func traceparent(value string) string {
	if len(value) != 55 || value[2] != '-' || value[35] != '-' || value[52] != '-' {
		return ""
	}
	for _, r := range value {
		if r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return ""
		}
	}
	return value
}
