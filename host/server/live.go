package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/plinthhost/plinth/client/protocol"
)

// newUpgrader makes the upgrader; Host and Origin were checked before it.
func (s *Server) newUpgrader() websocket.Upgrader {
	return websocket.Upgrader{
		HandshakeTimeout: 10 * time.Second,
		ReadBufferSize:   4 << 10,
		WriteBufferSize:  8 << 10,
		WriteBufferPool:  &sync.Pool{},
		Subprotocols:     []string{protocol.Subprotocol},
		CheckOrigin:      func(*http.Request) bool { return true },
		Error: func(w http.ResponseWriter, _ *http.Request, _ int, reason error) {
			writeProblem(w, protocol.Errorf(protocol.BadRequest, "%s", reason.Error()))
		},
	}
}

// serveLive upgrades the request and serves the connection until it ends.
func (s *Server) serveLive(w http.ResponseWriter, r *http.Request) {
	principal := principalOf(r.Context())
	guarded, stop, err := s.guard(r.Context(), principal)
	if err != nil {
		writeProblem(w, s.wireError("live", err))
		return
	}
	defer stop()
	if !s.enterLive() {
		writeProblem(w, tooManyLive())
		return
	}
	defer s.leaveLive()
	s.tasks.Add(1)
	defer s.tasks.Done()
	ws, err := s.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader answered
	}
	newConn(s, ws, principal).serve(guarded, r.Context())
}

// conn is one live connection: a reader, a writer that owns the subscriptions, and
// a goroutine per request in flight.
type conn struct {
	server    *Server
	ws        *websocket.Conn
	principal Principal

	// commands carries what the reader got to the writer; it holds few, so a client
	// that sends faster than it reads is held back by TCP.
	commands chan command
	// results has room for every request in flight.
	results  chan protocol.Res
	inflight atomic.Int32
	requests sync.WaitGroup
	// poke tells the writer that a subscription has something.
	poke chan struct{}
	// heard is set by whatever the client sends, and cleared by every ping.
	heard atomic.Bool
}

// command is something the writer does for the reader: a *protocol.Sub, a
// *protocol.Unsub, or a frame to send.
type command any

func newConn(s *Server, ws *websocket.Conn, principal Principal) *conn {
	return &conn{
		server: s, ws: ws, principal: principal,
		commands: make(chan command, 16),
		results:  make(chan protocol.Res, maxInflight),
		poke:     make(chan struct{}, 1),
	}
}

// closing is the cause that ends a connection with a close frame.
type closing struct {
	code   int
	reason string
}

func (e *closing) Error() string { return fmt.Sprintf("close %d: %s", e.code, e.reason) }

// errLost ends a connection whose socket is gone.
var errLost = errors.New("the connection was lost")

// serve runs the connection. live ends with the token or the server, base with
// the server's last patience.
func (c *conn) serve(live, base context.Context) {
	defer c.ws.Close()
	hello, err := c.handshake()
	if err != nil {
		c.close(err)
		return
	}
	ctx, cancel := context.WithCancelCause(live)
	defer cancel(nil)
	// Before the welcome: a client that was welcomed is newer than all before it.
	defer c.server.supersede(c.principal, hello.Client.ID, cancel)()
	if err := c.welcome(); err != nil {
		c.close(err)
		return
	}
	requests, endRequests := context.WithCancel(base)
	w := newWriter(c, hello)
	done := make(chan struct{})
	go func() {
		defer close(done)
		cancel(w.run(ctx)) // wakes the reader's sends
		c.ws.Close()       // wakes the reader itself
	}()
	cancel(c.read(ctx, requests))
	<-done
	endRequests()
	c.requests.Wait()
}

// handshake reads the hello and checks it.
func (c *conn) handshake() (*protocol.Hello, error) {
	deadline := time.Now().Add(c.server.options.HelloTimeout)
	if err := c.ws.SetReadDeadline(deadline); err != nil {
		return nil, errLost
	}
	for {
		frame, err := c.readFrame()
		var bad *protocol.FrameError
		switch {
		case errors.As(err, &bad):
			if err := c.send(errFrame(bad)); err != nil {
				return nil, err
			}
			continue
		case err != nil && !time.Now().Before(deadline):
			return nil, &closing{protocol.CloseHello, "no hello came"}
		case err != nil:
			return nil, err
		}
		hello, ok := frame.(*protocol.Hello)
		if !ok {
			bad := &protocol.FrameError{Err: protocol.Errorf(protocol.BadRequest, "the first frame must be hello")}
			if err := c.send(errFrame(bad)); err != nil {
				return nil, err
			}
			continue
		}
		return hello, checkHello(hello)
	}
}

func checkHello(hello *protocol.Hello) error {
	if hello.Proto != protocol.Version {
		return &closing{protocol.CloseVersion, fmt.Sprintf("this server speaks protocol %d", protocol.Version)}
	}
	if hello.Ticket != "" {
		return &closing{protocol.CloseAuth, "this server takes no tickets; send the Authorization header"}
	}
	return nil
}

func (c *conn) welcome() error {
	if err := c.ws.SetReadDeadline(time.Time{}); err != nil {
		return errLost
	}
	return c.send(protocol.Welcome{
		T: "welcome", Conn: "k_" + rand.Text()[:12], Scopes: c.principal.Scopes,
		HeartbeatMS: c.server.options.Heartbeat.Milliseconds(),
		Limits:      protocol.Limits{Frame: protocol.MaxFrame, Inflight: maxInflight, Subs: maxSubs},
		Server:      protocol.ServerInfo{Version: c.server.options.Version, Proto: []int{protocol.Version}},
	})
}

func errFrame(err *protocol.FrameError) protocol.ErrFrame {
	return protocol.ErrFrame{T: "err", Of: err.Of, Error: err.Err}
}
