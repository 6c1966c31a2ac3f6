package server

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

// uploadTimeout bounds the time a client takes to send a file.
const uploadTimeout = 2 * time.Minute

// maxUploads bounds the files that are in memory at a time.
const maxUploads = 4

type uploadInput struct {
	Mime    string `header:"Content-Type" doc:"What the file is."`
	RawBody []byte
}

// blobRoutes registers what takes files. There is no route that gives one back: a
// digest alone does not say which session its reader may see it for.
func (s *Server) blobRoutes(api huma.API) {
	content := map[string]*huma.MediaType{}
	for _, mime := range protocol.BlobTypes() {
		content[mime] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	}
	route(s, api, protocol.ScopeWrite, huma.Operation{
		OperationID: "upload-blob", Method: http.MethodPost, Path: protocol.BlobsPath,
		Summary: "Take a file that a prompt can name; the body is its bytes", DefaultStatus: http.StatusCreated,
		RequestBody: &huma.RequestBody{Required: true, Content: content},
	}, func(ctx context.Context, in *uploadInput) (*answer[protocol.Blob], error) {
		kind, err := checkUpload(in.Mime, in.RawBody)
		if err != nil {
			return nil, err
		}
		digest, putErr := s.backend.Blobs.Put(ctx, in.RawBody)
		return &answer[protocol.Blob]{protocol.Blob{Blob: digest, Mime: kind, Bytes: int64(len(in.RawBody))}}, putErr
	})
	delete(content, "application/octet-stream") // huma's word for a body of bytes
}

func isUpload(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Path == protocol.BlobsPath
}

// uploadScope is the right that a request with a body of bytes needs; empty for other
// requests.
func uploadScope(r *http.Request) protocol.Scope {
	switch {
	case isUpload(r):
		return protocol.ScopeWrite
	case isPluginUpload(r):
		return protocol.ScopePlugins
	case isRehearsal(r):
		return protocol.ScopeAdmin
	}
	return ""
}

// startUpload judges before the body is read, which is larger than others: the right
// first, then whether there is room. The caller calls done with the request's end.
func (s *Server) startUpload(principal Principal, scope protocol.Scope) (done func(), err error) {
	if err := principal.authorise(scope); err != nil {
		return nil, err
	}
	select {
	case s.uploads <- struct{}{}:
		return func() { <-s.uploads }, nil
	default:
		return nil, protocol.Errorf(protocol.Busy, "%d files are being sent already, the limit; try again", maxUploads)
	}
}
