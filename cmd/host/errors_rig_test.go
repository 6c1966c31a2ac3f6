package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// logged keeps what a host logs.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// request is one HTTP request by hand, over the unix socket unless tcp names a token.
type request struct {
	method, path, body string
	tcp                bool
	token              string
}

// http makes the request and answers the status and the body.
func (r *rig) http(q request) (status int, body []byte) {
	r.t.Helper()
	status, body, err := r.try(r.within(), q)
	if err != nil {
		r.t.Fatal(err)
	}
	return status, body
}

// try makes the request on any goroutine.
func (r *rig) try(ctx context.Context, q request) (status int, body []byte, err error) {
	if q.method == "" {
		q.method = http.MethodPost
	}
	address, transport := "http://localhost", &http.Transport{DisableKeepAlives: true}
	if q.tcp {
		address = "http://" + r.server.Addr().String()
	} else {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(r.data, "cli.sock"))
		}
	}
	made, err := http.NewRequestWithContext(ctx, q.method, address+q.path, strings.NewReader(q.body))
	if err != nil {
		return 0, nil, err
	}
	if q.body != "" {
		made.Header.Set("Content-Type", "application/json")
	}
	if q.token != "" {
		made.Header.Set("Authorization", "Bearer "+q.token)
	}
	response, err := (&http.Client{Transport: transport}).Do(made)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// got reads a good answer.
func got[T any](r *rig, q request) T {
	r.t.Helper()
	status, body := r.http(q)
	var value T
	if err := json.Unmarshal(body, &value); err != nil || status >= http.StatusBadRequest {
		r.t.Fatalf("%s %s is answered %d %s (%v)", q.method, q.path, status, body, err)
	}
	return value
}

// problem reads a refusal.
func (r *rig) problem(q request) protocol.Problem {
	r.t.Helper()
	status, body := r.http(q)
	var p protocol.Problem
	if err := json.Unmarshal(body, &p); err != nil || status < http.StatusBadRequest || status != p.Status {
		r.t.Fatalf("%s %s is answered %d %s (%v)", q.method, q.path, status, body, err)
	}
	return p
}

// contribute opens a scope of the host, which ends with the test's host.
func (r *rig) contribute(id string, contributions ...registry.Contribution) {
	r.t.Helper()
	if _, err := r.registries.Replace(registry.Scope{ID: id, Builtin: true, Contributions: contributions}); err != nil {
		r.t.Fatal(err)
	}
}

// streams is a provider of a function.
type streams func(ctx context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool)

func (s streams) Stream(ctx context.Context, request session.ModelRequest) iter.Seq2[session.ModelEvent, error] {
	return func(yield func(session.ModelEvent, error) bool) { s(ctx, request, yield) }
}

// provide puts a provider in the place of the offline one.
func (r *rig) provide(provider streams) {
	r.contribute("core/offline", r.kinds.Providers.Contribute("offline", 0, provider))
}

// varying is what differs from run to run: ids, references and the test's folder.
var varying = regexp.MustCompile(`\b(ses|msg|per|act|que)_[0-9a-f]{16}[0-9A-Za-z]{14}\b|\berr_[0-9A-Z]{16}\b|127\.0\.0\.1:\d+`)

// same answers a text as every run has it.
func (r *rig) same(text string) string {
	if folder, err := filepath.EvalSymlinks(filepath.Dir(r.data)); err == nil {
		text = strings.ReplaceAll(text, folder, "FOLDER")
	}
	return varying.ReplaceAllString(text, "·")
}

// lastNote is the last line that a command wrote for people.
func lastNote(notes string) string {
	notes = strings.TrimSuffix(notes, "\n")
	return notes[strings.LastIndex(notes, "\n")+1:]
}
