package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// web is a server over streamable HTTP.
type web struct {
	*httptest.Server
	mcp *sdk.Server

	mu   sync.Mutex
	seen http.Header // of the last request
}

func newWeb(t *testing.T, options *sdk.StreamableHTTPOptions, wrap func(http.Handler) http.Handler) *web {
	t.Helper()
	w := &web{mcp: testServer("usual")}
	var handler http.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return w.mcp }, options)
	if wrap != nil {
		handler = wrap(handler)
	}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, request *http.Request) {
		w.mu.Lock()
		w.seen = request.Header.Clone()
		w.mu.Unlock()
		handler.ServeHTTP(rw, request)
	}))
	t.Cleanup(func() { leave(w.mcp); w.CloseClientConnections(); w.Close() })
	return w
}

// leave ends the sessions that a server in this process has.
func leave(server *sdk.Server) {
	for one := range server.Sessions() {
		one.Close()
	}
}

func TestAServerOverHTTP(t *testing.T) {
	for name, options := range map[string]*sdk.StreamableHTTPOptions{"event streams": nil, "JSON": {JSONResponse: true}, "stateless": {Stateless: true}} {
		t.Run(name, func(t *testing.T) {
			w := newWeb(t, options, nil)
			r := newRig(t, Server{Name: "web", URL: w.URL + "/mcp/", Secret: "env:BEARER", Headers: map[string]string{"X-Plain": "plain", "X-Key": "env:KEY"}})
			defer r.Hub.Close()
			if got := r.call("web_echo", `{"text":"hello"}`); got != "hello from " {
				t.Errorf("%s\n%s", got, r.log.String())
			}
			if got := r.call("web_fail", `{}`); got != "failed: the disk is full" {
				t.Error(got)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.seen.Get("Authorization") != "Bearer BEARER-the-secret" || w.seen.Get("X-Plain") != "plain" || w.seen.Get("X-Key") != "KEY-the-secret" {
				t.Errorf("%v", w.seen)
			}
		})
	}
}

func TestAListThatChangesOverHTTP(t *testing.T) {
	w := newWeb(t, nil, nil)
	r := newRig(t, Server{Name: "web", URL: w.URL})
	defer r.Hub.Close()
	if got := r.call("web_grow", "{}"); got != "grown" {
		t.Fatal(got)
	}
	r.until("the new tool", func() bool { return times(r.served, "web") == 2 })
	if !slices.Contains(r.names(), "web_grown") {
		t.Errorf("%q", r.names())
	}
}

func TestACallOverHTTPIsCancelled(t *testing.T) {
	w := newWeb(t, nil, nil)
	r := newRig(t, Server{Name: "web", URL: w.URL})
	defer r.Hub.Close()
	ctx, cancel := context.WithCancel(t.Context())
	if got := r.callAs(ctx, &host{shown: cancel}, "web_wait", "{}"); got != "error: context canceled" {
		t.Error(got)
	}
	if got := r.call("web_echo", `{"text":"still"}`); !strings.HasPrefix(got, "still") {
		t.Error(got)
	}
}

// What a server may not do: lead elsewhere, answer without end, say a secret, or keep the
// host from ending.
func TestHostileServersOverHTTP(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer elsewhere.Close()
	redirect := newWeb(t, nil, func(http.Handler) http.Handler {
		return http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect)
	})
	leak := newWeb(t, nil, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			http.Error(w, "no "+request.Header.Get("Authorization"), http.StatusForbidden)
		})
	})
	endless := newWeb(t, nil, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		})
	})
	stuck := make(chan struct{})
	mute := newWeb(t, nil, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
			select {
			case <-request.Context().Done():
			case <-stuck:
			}
		})
	})
	defer close(stuck)
	r := unstarted(t, Server{Name: "redirect", URL: redirect.URL}, Server{Name: "leak", URL: leak.URL, Secret: "env:BEARER"},
		Server{Name: "endless", URL: endless.URL}, Server{Name: "mute", URL: mute.URL}, Server{Name: "closed", URL: "http://127.0.0.1:1"},
		Server{Name: "plain", URL: "http://mcp.example", Secret: "env:BEARER"})
	r.options.Patience, r.options.Pause = 2*time.Second, time.Minute
	r.Ready(t.Context())
	for name, want := range map[string]string{"redirect": "redirects to", "leak": "orbidden", "endless": "limit", "mute": "did not answer in time", "closed": "refused", "plain": "no secret is sent over plain http"} {
		if got := r.failure(name); !strings.Contains(got, want) || strings.Contains(got, "the-secret") {
			t.Errorf("%s: %s", name, got)
		}
	}
	r.Hub.Close()
}

// A server that is started anew, and knows nothing of before, is gone on with.
func TestAServerOverHTTPComesBack(t *testing.T) {
	var current atomic.Pointer[sdk.StreamableHTTPHandler]
	fresh := func() {
		server := testServer("usual")
		t.Cleanup(func() { leave(server) })
		current.Store(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	}
	fresh()
	w := newWeb(t, nil, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) { current.Load().ServeHTTP(w, request) })
	})
	r := newRig(t, Server{Name: "web", URL: w.URL})
	defer r.Hub.Close()
	fresh()
	end := time.Now().Add(10 * time.Second)
	for {
		if got := r.call("web_echo", `{"text":"x"}`); got == "x from " {
			return
		} else if time.Now().After(end) {
			t.Fatal(got)
		}
	}
}
