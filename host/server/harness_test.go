package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"
	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/host/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test.
const patience = 10 * time.Second

// rig is a server on TCP and a unix socket with a backend in memory.
type rig struct {
	*servertest.Memory
	t      *testing.T
	server *server.Server
	socket string
	url    string // http://127.0.0.1:port
	admin  string // a token with all rights
}

func start(t *testing.T, change ...func(*server.Options)) *rig {
	t.Helper()
	folder, err := os.MkdirTemp("", "plinth") // short: a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	options := server.Options{Listen: "127.0.0.1:0", Socket: filepath.Join(folder, "s", "cli.sock"), Version: "test",
		Logger: hclog.New(&hclog.LoggerOptions{Output: t.Output()})}
	for _, f := range change {
		f(&options)
	}
	r := &rig{Memory: servertest.New(), t: t, socket: options.Socket}
	r.server, err = server.New(options, r.Backend())
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	if err := r.server.Start(t.Context()); err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() {
		if err := r.server.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	r.url = "http://" + r.server.Addr().String()
	r.admin = r.token(protocol.ScopeAdmin)
	return r
}

// token makes a token and answers its secret.
func (r *rig) token(scopes ...protocol.Scope) string {
	r.t.Helper()
	created, err := r.Create(r.t.Context(), server.Caller{}, protocol.CreateToken{Scopes: scopes})
	if err != nil {
		r.t.Fatalf("create token: %v", err)
	}
	return created.Secret
}

// call is one HTTP request of a test.
type call struct {
	method, path string
	body         string
	token        string
	host         string
	header       map[string]string
}

// do makes the request over a connection of its own.
func (r *rig) do(c call) (status int, header http.Header, body []byte) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), c.method, r.url+c.path, bytes.NewBufferString(c.body))
	if err != nil {
		r.t.Fatal(err)
	}
	if c.body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	for key, value := range c.header {
		request.Header.Set(key, value)
	}
	if c.host != "" {
		request.Host = c.host
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport, Timeout: patience}).Do(request)
	if err != nil {
		r.t.Fatalf("%s %s: %v", c.method, c.path, err)
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatalf("%s %s: %v", c.method, c.path, err)
	}
	return response.StatusCode, response.Header, body
}

// get makes the request as admin and decodes what must be a good answer.
func get[T any](r *rig, c call) T {
	r.t.Helper()
	if c.token == "" {
		c.token = r.admin
	}
	status, _, body := r.do(c)
	var result T
	if status >= 300 {
		r.t.Fatalf("%s %s answered %d: %s", c.method, c.path, status, body)
	}
	if err := json.Unmarshal(body, &result); err != nil {
		r.t.Fatalf("%s %s: %v in %s", c.method, c.path, err, body)
	}
	return result
}

// refused makes the request as admin and answers the problem it must get.
func (r *rig) refused(c call) protocol.Problem {
	r.t.Helper()
	if c.token == "" {
		c.token = r.admin
	}
	return r.problem(c)
}

// problem makes the request as it is and answers the problem it must get.
func (r *rig) problem(c call) protocol.Problem {
	r.t.Helper()
	status, header, body := r.do(c)
	var p protocol.Problem
	if err := json.Unmarshal(body, &p); err != nil {
		r.t.Fatalf("%s %s answered %d %q", c.method, c.path, status, body)
	}
	if p.Status != status || p.Code.Status() != status || header.Get("Content-Type") != "application/problem+json" {
		r.t.Errorf("%s %s: status %d, content type %q do not go with problem %+v", c.method, c.path, status, header.Get("Content-Type"), p)
	}
	return p
}

// peer is a raw live connection.
type peer struct {
	t  *testing.T
	ws *websocket.Conn
}

// connect opens a live connection without a hello.
func (r *rig) connect(token string) *peer {
	r.t.Helper()
	p, response, err := r.dial(http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		r.t.Fatalf("dial: %v (%v)", err, response)
	}
	return p
}

func (r *rig) dial(header http.Header) (*peer, *http.Response, error) {
	dialer := websocket.Dialer{Subprotocols: []string{protocol.Subprotocol}, HandshakeTimeout: patience}
	ws, response, err := dialer.DialContext(r.t.Context(), "ws"+r.url[len("http"):]+protocol.LivePath, header)
	if response != nil {
		response.Body.Close()
	}
	if err != nil {
		return nil, response, err
	}
	r.t.Cleanup(func() { ws.Close() })
	return &peer{r.t, ws}, response, nil
}

// live opens a live connection with its handshake done.
func (r *rig) live() *peer {
	r.t.Helper()
	p := r.connect(r.admin)
	p.send(`{"t":"hello","proto":1}`)
	expect[*protocol.Welcome](p)
	return p
}

func (p *peer) send(frame string) {
	p.t.Helper()
	if err := p.ws.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
		p.t.Fatalf("send %s: %v", frame, err)
	}
}

// next reads one frame of the server.
func (p *peer) next() any {
	p.t.Helper()
	p.ws.SetReadDeadline(time.Now().Add(patience))
	_, data, err := p.ws.ReadMessage()
	if err != nil {
		p.t.Fatalf("read: %v", err)
	}
	frame, err := protocol.ParseServerFrame(data)
	if err != nil || frame == nil {
		p.t.Fatalf("frame %s: %v", data, err)
	}
	return frame
}

// expect reads the next frame, which must be of type T.
func expect[T any](p *peer) T {
	p.t.Helper()
	frame := p.next()
	typed, ok := frame.(T)
	if !ok {
		encoded, _ := json.Marshal(frame)
		p.t.Fatalf("got %s, want a %T", encoded, typed)
	}
	return typed
}

// until reads frames up to the first of type T and answers that one.
func until[T any](p *peer) T {
	p.t.Helper()
	for {
		if typed, ok := p.next().(T); ok {
			return typed
		}
	}
}

// closed reads up to the end and answers the close code.
func (p *peer) closed() int {
	p.t.Helper()
	for {
		p.ws.SetReadDeadline(time.Now().Add(patience))
		_, _, err := p.ws.ReadMessage()
		var end *websocket.CloseError
		var slow net.Error
		switch {
		case errors.As(err, &end):
			return end.Code
		case errors.As(err, &slow) && slow.Timeout():
			p.t.Fatal("the connection was not closed")
		case err != nil:
			p.t.Fatalf("read: %v", err)
		}
	}
}

// unwatched waits until the server holds no registration of the backend's.
func (r *rig) unwatched() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	if err := r.Unwatched(ctx); err != nil {
		r.t.Error(err)
	}
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
