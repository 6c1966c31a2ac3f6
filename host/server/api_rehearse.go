package server

import (
	"context"
	"mime"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

// Rehearsals runs new versions of plugins without having them serve.
type Rehearsals interface {
	// Rehearse compares a packed plugin with the version that serves, on the last turns of
	// a session; turns is from 1 to 100.
	Rehearse(ctx context.Context, session string, turns int, packed []byte) (protocol.Rehearsal, error)
}

type rehearseInput struct {
	Session string `query:"session" required:"true" doc:"The session's id."`
	Turns   int    `query:"turns" minimum:"1" maximum:"100" default:"10" doc:"How many of its last turns."`
	Mime    string `header:"Content-Type" doc:"application/wasm"`
	RawBody []byte
}

// rehearseRoutes registers what tries new versions of plugins out.
func (s *Server) rehearseRoutes(api huma.API) {
	content := map[string]*huma.MediaType{protocol.MimeWasm: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}
	route(s, api, protocol.ScopeAdmin, huma.Operation{
		OperationID: "rehearse-plugin", Method: http.MethodPost, Path: protocol.RehearsePath,
		Summary:     "Run a new version of a plugin on a session's history beside the one that serves, and tell what differs; the body is the packed plugin",
		RequestBody: &huma.RequestBody{Required: true, Content: content},
	}, func(ctx context.Context, in *rehearseInput) (*answer[protocol.Rehearsal], error) {
		if kind, _, _ := mime.ParseMediaType(in.Mime); kind != protocol.MimeWasm || len(in.RawBody) == 0 {
			return nil, protocol.Errorf(protocol.BadRequest, "the body must be a packed plugin, with \"Content-Type: %s\"", protocol.MimeWasm)
		}
		rehearsal, err := s.backend.Rehearsals.Rehearse(ctx, in.Session, in.Turns, in.RawBody)
		return &answer[protocol.Rehearsal]{rehearsal}, err
	})
	delete(content, "application/octet-stream") // huma's word for a body of bytes
}

func isRehearsal(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Path == protocol.RehearsePath
}
