package server

import (
	"net/http"
	"strings"
)

// What pages of an allowed origin may send beyond what any page may, and how long a
// browser may keep the answer, in seconds. Credentials are not among it: a page
// sends its token itself, so a cookie or a password of the browser opens nothing.
const (
	corsMethods = "GET, POST, PATCH, DELETE"
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Traceparent"
	corsMaxAge  = "600"
)

// cors lets pages of the configured origins read the answer, and answers their
// preflights, which is when it reports true. The origin was checked before.
func (s *Server) cors(w http.ResponseWriter, r *http.Request) (preflight bool) {
	header := w.Header()
	origin := r.Header.Get("Origin")
	if !s.origins[strings.ToLower(origin)] {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origin)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	header.Set("Access-Control-Allow-Methods", corsMethods)
	header.Set("Access-Control-Allow-Headers", corsHeaders)
	header.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
	return true
}
