package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
)

// watching is an open stream of what a plugin does.
type watching struct {
	t     *testing.T
	lines *bufio.Scanner
	close func()
}

func (r *rig) watch(path, token string) *watching {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	r.t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { response.Body.Close() })
	if kind := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || kind != "application/x-ndjson" {
		r.t.Fatalf("%s, %s", response.Status, kind)
	}
	w := &watching{t: r.t, lines: bufio.NewScanner(response.Body), close: cancel}
	w.lines.Buffer(nil, 32<<20)
	if line, ok := w.next(); !ok || line != "" {
		r.t.Fatalf("it begins with %q, %v", line, w.lines.Err())
	}
	return w
}

func (w *watching) next() (line string, ok bool) {
	ok = w.lines.Scan()
	return w.lines.Text(), ok
}

// notice is the next that comes.
func (w *watching) notice() (notice protocol.PluginNotice) {
	w.t.Helper()
	line, ok := w.next()
	for ok && line == "" {
		line, ok = w.next()
	}
	if err := json.Unmarshal([]byte(line), &notice); err != nil || !ok {
		w.t.Fatalf("%.100s, %v, %v", line, err, w.lines.Err())
	}
	return notice
}

func TestWatchAPlugin(t *testing.T) {
	t.Parallel()
	r := start(t)
	mine, other := protocol.PluginParams{ID: "acme/a", Location: "/p q"}, protocol.PluginParams{ID: "acme/a"}
	w := r.watch("/v1/plugins/acme/a/watch?location=%2Fp+q", r.admin)
	if diff := cmp.Diff([]protocol.PluginParams{mine}, r.Watched()); diff != "" {
		t.Fatal(diff)
	}
	want := protocol.PluginNotice{Revision: "r1", Log: &protocol.PluginLine{Level: "warn", Text: "<b>\nline"}}
	r.Notice(other, protocol.PluginNotice{Revision: "r2", Log: &protocol.PluginLine{Text: "not mine"}})
	r.Notice(mine, want)
	if diff := cmp.Diff(want, w.notice()); diff != "" {
		t.Error(diff)
	}
	w.close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for len(r.Watched()) > 0 { // the server sees that the client is gone
		if runtime.Gosched(); ctx.Err() != nil {
			t.Fatal("it is watched still")
		}
	}
}

func TestWatchNeedsAllRights(t *testing.T) {
	t.Parallel()
	r := start(t)
	for _, scope := range []protocol.Scope{protocol.ScopeRead, protocol.ScopeWrite, protocol.ScopePlugins} {
		if p := r.problem(call{method: "GET", path: "/v1/plugins/acme/a/watch", token: r.token(scope)}); p.Code != protocol.Forbidden {
			t.Errorf("%s: %+v", scope, p)
		}
	}
	if len(r.Watched()) > 0 {
		t.Error("it is watched all the same")
	}
}

// What nobody reads is counted, and does not pile up.
func TestASlowWatcherLosesNotices(t *testing.T) {
	t.Parallel()
	r := start(t)
	w := r.watch("/v1/plugins/acme/a/watch", r.admin)
	large := protocol.PluginNotice{Failed: &protocol.FailedCall{Recording: strings.Repeat("x", 3<<20)}}
	const sent = 40
	for range sent {
		r.Notice(protocol.PluginParams{ID: "acme/a"}, large)
	}
	for came := 0; ; {
		notice := w.notice()
		if notice.Lost > 0 {
			return
		}
		if notice.Failed != nil {
			came++
		}
		if came == sent {
			t.Fatalf("nothing was lost of %d MiB that nobody read", 3*sent)
		}
		r.Notice(protocol.PluginParams{ID: "acme/a"}, protocol.PluginNotice{Log: &protocol.PluginLine{Text: "one more"}})
	}
}

// A connection where nothing happens is kept, and ends with the server.
func TestAQuietWatch(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *server.Options) { o.Heartbeat = time.Millisecond })
	w := r.watch("/v1/plugins/acme/a/watch", r.admin)
	for range 3 {
		if line, ok := w.next(); !ok || line != "" {
			t.Fatalf("%q, %v", line, w.lines.Err())
		}
	}
	closed := make(chan error, 1)
	go func() { closed <- r.server.Close() }()
	var last string
	for line, ok := w.next(); ok; line, ok = w.next() {
		if line != "" {
			last = line
		}
	}
	if err := <-closed; err != nil || !strings.Contains(last, `"error"`) || !strings.Contains(last, "shutting down") {
		t.Errorf("the last line is %q, %v", last, err)
	}
}
