package server

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/plinthhost/plinth/client/protocol"
)

type exportInput struct {
	ID       string `path:"id" doc:"The session's id."`
	Children bool   `query:"children" doc:"With the sessions that its calls made, and theirs."`
}

type shareInput struct {
	ID        string `path:"id" doc:"The session's id."`
	Format    string `query:"format" doc:"html, markdown or json; html when absent."`
	Reasoning bool   `query:"reasoning" doc:"With what the model thought."`
}

type importInput struct {
	Trace string `header:"traceparent" doc:"W3C trace context."`
}

type backupInput struct {
	Body protocol.CreateBackup
}

// downloadOutput is an answer that is written as it is made.
type downloadOutput struct {
	Body func(huma.Context)
}

// transferRoutes registers what carries sessions and whole stores.
func (s *Server) transferRoutes(api huma.API) {
	binary := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "export-session", Method: http.MethodGet, Path: "/v1/sessions/{id}/export",
		Summary:   "The session as a file that another host can import",
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{protocol.MimeBundle: binary}}},
	}, func(ctx context.Context, in *exportInput) (*downloadOutput, error) {
		download, err := s.backend.Transfers.Export(ctx, in.ID, in.Children)
		if err != nil {
			return nil, err
		}
		return s.download("export-session", http.Header{"Content-Type": {protocol.MimeBundle}}, download), nil
	})
	route(s, api, protocol.ScopeAdmin, huma.Operation{
		OperationID: "import-session", Method: http.MethodPost, Path: protocol.ImportPath,
		Summary:     "Take sessions that were exported; the body is the file",
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{protocol.MimeBundle: binary}},
	}, func(ctx context.Context, in *importInput) (*answer[protocol.ImportResult], error) {
		body, _ := ctx.Value(streamKey{}).(io.Reader)
		if body == nil {
			return nil, protocol.Errorf(protocol.BadRequest, "the body must be an exported session, with \"Content-Type: %s\"", protocol.MimeBundle)
		}
		result, err := s.backend.Transfers.Import(ctx, callerOf(ctx, "", in.Trace), body)
		return &answer[protocol.ImportResult]{result}, err
	})
	shared := map[string]*huma.MediaType{}
	for _, format := range protocol.ShareFormats() {
		kind, _, _ := strings.Cut(format.MediaType(), ";")
		shared[kind] = binary
	}
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "share-session", Method: http.MethodGet, Path: "/v1/sessions/{id}/share",
		Summary:   "The transcript for people, without what is the host's own",
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: shared}},
	}, s.share)
	route(s, api, protocol.ScopeAdmin, huma.Operation{
		OperationID: "create-backup", Method: http.MethodPost, Path: "/v1/host/backup",
		Summary: "Back up the store into a folder of the host's machine, while it is used",
	}, func(ctx context.Context, in *backupInput) (*answer[protocol.Backup], error) {
		backup, err := s.backend.Transfers.Backup(ctx, in.Body)
		return &answer[protocol.Backup]{backup}, err
	})
}

func (s *Server) share(ctx context.Context, in *shareInput) (*downloadOutput, error) {
	share := protocol.ShareSession{Format: protocol.ShareFormat(in.Format), Reasoning: in.Reasoning}
	if share.Format == "" {
		share.Format = protocol.ShareHTML
	}
	if !slices.Contains(protocol.ShareFormats(), share.Format) {
		return nil, protocol.Errorf(protocol.BadRequest, "format is %q; it must be html, markdown or json", clip(in.Format))
	}
	download, err := s.backend.Transfers.Share(ctx, in.ID, share)
	if err != nil {
		return nil, err
	}
	// It has what models and tools wrote: never a page of this server's.
	return s.download("share-session", http.Header{
		"Content-Type":            {share.Format.MediaType()},
		"Content-Disposition":     {"attachment"},
		"Content-Security-Policy": {"sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"},
	}, download), nil
}

// download answers with what a backend writes. An answer that breaks off breaks the
// connection off, so that no client takes it for whole.
func (s *Server) download(operation string, header http.Header, download Download) *downloadOutput {
	return &downloadOutput{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		maps.Copy(w.Header(), header)
		guarded, stop, err := s.guard(r.Context(), principalOf(r.Context()))
		if err == nil {
			defer stop()
			err = download(guarded, &patientWriter{w: w, control: http.NewResponseController(w), timeout: s.options.WriteTimeout})
		}
		if err != nil {
			s.logger.Warn("an answer broke off", "operation", operation, "error", err)
			panic(http.ErrAbortHandler)
		}
	}}
}

// patientWriter gives a client its time for each piece.
type patientWriter struct {
	w       io.Writer
	control *http.ResponseController
	timeout time.Duration
}

func (p *patientWriter) Write(piece []byte) (int, error) {
	if err := p.control.SetWriteDeadline(time.Now().Add(p.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return p.w.Write(piece)
}

// streamKey is the context key of a body that is read as it comes.
type streamKey struct{}

func isImport(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Path == protocol.ImportPath
}

// startImport judges before the body is read: the right first, then what it is and
// whether another one is being taken. The caller calls done with the request's end.
func (s *Server) startImport(principal Principal, r *http.Request) (done func(), err error) {
	if err := principal.authorise(protocol.ScopeAdmin); err != nil {
		return nil, err
	}
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != protocol.MimeBundle {
		return nil, protocol.Errorf(protocol.BadRequest, "the body must be an exported session, with \"Content-Type: %s\"", protocol.MimeBundle)
	}
	select {
	case s.imports <- struct{}{}:
		return func() { <-s.imports }, nil
	default:
		return nil, protocol.Errorf(protocol.Busy, "another import is running; try again when it is done")
	}
}

// slowBody reads a body piece by piece, each within the time of a small one.
type slowBody struct {
	body    io.Reader
	control *http.ResponseController
}

func (b *slowBody) Read(piece []byte) (int, error) {
	if err := b.control.SetReadDeadline(time.Now().Add(bodyTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, protocol.Errorf(protocol.Unavailable, "the body cannot be read")
	}
	n, err := b.body.Read(piece)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return n, bodyTooLarge(protocol.MaxImport)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, protocol.Errorf(protocol.BadRequest, "the body could not be read whole")
	}
	if err != nil {
		_ = b.control.SetReadDeadline(time.Time{}) // the connection may serve another request
	}
	return n, err
}
