package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
)

// bodyTimeout bounds the time a client takes to send a body.
const bodyTimeout = 30 * time.Second

// check runs the checks every request passes before a route sees it, in this
// order: Host, Origin, size, authentication. Rights are the route's. A page's
// preflight asks only whether it may ask, so it ends after the origin.
func (s *Server) check(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Vary", "Origin")
		err := s.checkAddress(r)
		if err == nil {
			if s.cors(w, r) {
				return
			}
			err = checkSize(r)
		}
		if err != nil {
			linger(w, r)
			writeProblem(w, err)
			return
		}
		if isProbe(r) {
			next.ServeHTTP(w, r)
			return
		}
		principal, authErr := s.authenticate(r)
		if authErr != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeProblem(w, s.wireError("authenticate", authErr))
			return
		}
		if scope := uploadScope(r); scope != "" {
			done, err := s.startUpload(principal, scope)
			if err != nil {
				linger(w, r)
				writeProblem(w, s.wireError("upload", err))
				return
			}
			defer done()
		}
		ctx := context.WithValue(r.Context(), principalKey{}, principal)
		if isImport(r) {
			s.serveImport(w, r.WithContext(ctx), principal, next)
			return
		}
		if err := bufferBody(w, r); err != nil {
			linger(w, r)
			writeProblem(w, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// serveImport hands on the one body that is not held in memory.
func (s *Server) serveImport(w http.ResponseWriter, r *http.Request, principal Principal, next http.Handler) {
	done, err := s.startImport(principal, r)
	if err != nil {
		linger(w, r)
		writeProblem(w, s.wireError("import-session", err))
		return
	}
	defer done()
	body := &slowBody{body: http.MaxBytesReader(w, r.Body, maxBody(r)), control: http.NewResponseController(w)}
	next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), streamKey{}, io.Reader(body))))
}

// checkAddress checks Host and Origin.
func (s *Server) checkAddress(r *http.Request) *protocol.Error {
	if !s.hosts[hostName(r.Host)] {
		return protocol.Errorf(protocol.Forbidden, "the host name %q in the request is none of this server's; if it is, add it to allowed_hosts", clip(hostName(r.Host)))
	}
	if !s.originAllowed(r) {
		return protocol.Errorf(protocol.Forbidden, "pages of the origin %q may not call this server; if they shall, add it to allowed_origins", clip(r.Header.Get("Origin")))
	}
	return nil
}

// checkSize checks the declared length of the body.
func checkSize(r *http.Request) *protocol.Error {
	if r.ContentLength > maxBody(r) {
		return bodyTooLarge(maxBody(r))
	}
	return nil
}

func maxBody(r *http.Request) int64 {
	switch {
	case isUpload(r):
		return protocol.MaxBlob
	case isRehearsal(r), isPluginUpload(r):
		return protocol.MaxPlugin
	case isImport(r):
		return protocol.MaxImport
	}
	return protocol.MaxFrame
}

func bodyTooLarge(most int64) *protocol.Error {
	return protocol.Errorf(protocol.TooLarge, "the body is larger than %d bytes, the limit; send less", most)
}

// isProbe tells the two routes that need no authentication; they say nothing but
// whether the server works.
func isProbe(r *http.Request) bool {
	return r.Method == http.MethodGet && (r.URL.Path == "/healthz" || r.URL.Path == "/readyz")
}

// allowed answers the host names and origins the server answers to.
func (o Options) allowed() (hosts, origins map[string]bool) {
	hosts = map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true}
	for _, host := range o.AllowedHosts {
		hosts[strings.ToLower(host)] = true
	}
	if host, _, err := net.SplitHostPort(o.Listen); err == nil && net.ParseIP(host) != nil {
		hosts[host] = true // an address cannot be rebound as a name can
	}
	delete(hosts, "0.0.0.0")
	delete(hosts, "::")
	origins = map[string]bool{}
	for _, origin := range o.AllowedOrigins {
		origins[strings.ToLower(origin)] = true
	}
	return hosts, origins
}

// hostName answers the name in a Host header, without port and brackets.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return strings.ToLower(host)
}

// originAllowed accepts a request without Origin (no browser sends one across
// sites without it), one from the server's own pages and one that was configured.
func (s *Server) originAllowed(r *http.Request) bool {
	values := r.Header.Values("Origin")
	if len(values) == 0 {
		return true
	}
	origin := strings.ToLower(values[0])
	return len(values) == 1 && (s.origins[origin] || origin == "http://"+strings.ToLower(r.Host))
}

// authenticate tells who asks: by the peer of a unix socket, else by the token.
func (s *Server) authenticate(r *http.Request) (Principal, error) {
	if uid, ok := r.Context().Value(localKey{}).(int); ok {
		if uid != os.Geteuid() {
			return Principal{}, protocol.Errorf(protocol.Unauthenticated, "the socket serves user %d only", os.Geteuid())
		}
		return Principal{Actor: fmt.Sprintf("local:%d", uid), Scopes: protocol.Scopes()}, nil
	}
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return Principal{}, protocol.Errorf(protocol.Unauthenticated, "send one header \"Authorization: Bearer TOKEN\"")
	}
	scheme, secret, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return Principal{}, protocol.Errorf(protocol.Unauthenticated, "the Authorization header must be \"Bearer TOKEN\"")
	}
	return s.backend.Access.Verify(r.Context(), secret)
}

// What linger reads at most before a refusal is answered, and how long it waits for
// each piece of it.
const (
	lingerBytes = max(protocol.MaxBlob, protocol.MaxPlugin) + protocol.MaxFrame
	lingerPiece = 1 << 20
	lingerTime  = time.Second
)

// linger takes what the client is still sending of a body that is refused:
// closing at once would reset the connection, and the client would never read the
// reason.
func linger(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	if r.Body == nil || control.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	for read := 0; read < lingerBytes; read += lingerPiece {
		if _, err := io.CopyN(io.Discard, r.Body, lingerPiece); err != nil {
			break // whatever it is, the request is refused
		}
		_ = control.SetReadDeadline(time.Now().Add(lingerTime)) // it could be set before
	}
	w.Header().Set("Connection", "close")
}

// bufferBody reads the body within its limits of size and time, so that no route
// waits for a slow sender. It must be JSON, but for a file: what a page can send to
// another site without asking never is. A file's route is safe by the token, which a
// page must ask for too, and by the origin.
func bufferBody(w http.ResponseWriter, r *http.Request) *protocol.Error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	control := http.NewResponseController(w)
	timeout := bodyTimeout
	if uploadScope(r) != "" {
		timeout = uploadTimeout
	}
	if err := control.SetReadDeadline(time.Now().Add(timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return protocol.Errorf(protocol.Unavailable, "the body cannot be read")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody(r)))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return bodyTooLarge(maxBody(r))
	case err != nil:
		return protocol.Errorf(protocol.BadRequest, "the body could not be read whole")
	}
	if err := control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return protocol.Errorf(protocol.Unavailable, "the body cannot be read")
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); len(body) > 0 && kind != "application/json" && uploadScope(r) == "" {
		if r.Method == http.MethodPost && r.URL.Path == "/v1/plugins" {
			return protocol.Errorf(protocol.BadRequest, "the body must be a packed plugin with \"Content-Type: application/wasm\", or JSON with \"Content-Type: application/json\"")
		}
		return protocol.Errorf(protocol.BadRequest, "the body must be JSON with \"Content-Type: application/json\" (curl: --json)")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	return nil
}
