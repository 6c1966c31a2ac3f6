package server_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
)

// unhurt makes sure that another client is served as if nothing was.
func (r *rig) unhurt() {
	r.t.Helper()
	session := r.Session()
	p := r.live()
	p.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `"}`)
	until[*protocol.Live](p)
	p.send(`{"t":"req","id":"r","method":"session.get","params":{"sessionID":"` + session + `"}}`)
	if res := expect[*protocol.Res](p); !res.OK {
		r.t.Errorf("%+v", res.Error)
	}
	p.ws.Close()
}

// TestClientThatTakesNothing: a client that does not read what it asked for is given
// up after the write timeout, and leaves nothing behind.
func TestClientThatTakesNothing(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *server.Options) { o.WriteTimeout = 200 * time.Millisecond })
	session := r.Session()
	fat := strings.Repeat("x", 64<<10)
	for range 400 { // far more than the sockets hold
		r.Append(session, "test.fat", fat)
	}
	p := r.live()
	p.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `"}`)
	expect[*protocol.Subscribed](p)
	within(t, patience, "giving the client up", r.unwatched)
	r.unhurt()
}

// TestClientThatOnlySends: frames that a client sends without reading the answers
// are held back by TCP, not queued, and end with the write timeout.
func TestClientThatOnlySends(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *server.Options) { o.WriteTimeout, o.Heartbeat = 200*time.Millisecond, 200*time.Millisecond })
	session := r.Session()
	for name, frame := range map[string]string{
		"bad frames": `{"t":"` + strings.Repeat("n", 60) + `"}`,
		"requests":   `{"t":"req","id":"r","method":"session.get","params":{"sessionID":"` + session + `"}}`,
		"pings":      "",
	} {
		t.Run(name, func(t *testing.T) {
			p := r.live()
			for i := 0; ; i++ {
				var err error
				p.ws.SetWriteDeadline(time.Now().Add(patience))
				if frame == "" {
					err = p.ws.WriteControl(websocket.PingMessage, []byte(strings.Repeat("p", 125)), time.Now().Add(patience))
				} else {
					err = p.ws.WriteMessage(websocket.TextMessage, []byte(frame))
				}
				var slow net.Error
				if err != nil {
					if e, ok := err.(net.Error); ok {
						slow = e
					}
					if slow != nil && slow.Timeout() {
						t.Errorf("after %d frames the server neither reads nor gives the client up", i)
					}
					break
				}
			}
		})
	}
	r.unhurt()
}

// TestFrameInPieces: the limit of a frame holds for all its pieces together.
func TestFrameInPieces(t *testing.T) {
	t.Parallel()
	r := start(t)
	p := r.live()
	w, err := p.ws.NextWriter(websocket.TextMessage)
	if err != nil {
		t.Fatal(err)
	}
	piece := []byte(strings.Repeat(" ", 32<<10))
	for range 33 { // the writer sends a fragment whenever its buffer is full
		if _, err := w.Write(piece); err != nil {
			break // it was closed before the end, which is as good
		}
	}
	w.Close()
	if code := p.closed(); code != protocol.CloseFrameSize {
		t.Errorf("closed with %d", code)
	}
	r.unhurt()
}

// TestBrokenFraming: bytes that are no WebSocket end that connection alone.
func TestBrokenFraming(t *testing.T) {
	t.Parallel()
	r := start(t)
	for name, bytes := range map[string]string{
		"unmasked":      "\x81\x02{}",
		"reserved bits": "\xf1\x80\x00\x00\x00\x00",
		"reserved code": "\x83\x80\x00\x00\x00\x00",
		"huge":          "\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00" + strings.Repeat("x", 2<<20),
		"long ping":     "\x89\xfe\x01\x00\x00\x00\x00\x00",
	} {
		p := r.live()
		p.ws.NetConn().SetDeadline(time.Now().Add(patience))
		_, _ = p.ws.NetConn().Write([]byte(bytes)) // the server may close before it has all
		for {
			if _, _, err := p.ws.ReadMessage(); err != nil {
				if slow, ok := err.(net.Error); ok && slow.Timeout() {
					t.Errorf("%s: the connection was not closed", name)
				}
				break
			}
		}
	}
	r.unhurt()
}

func TestSupersede(t *testing.T) {
	t.Parallel()
	r := start(t)
	other := r.token(protocol.ScopeRead)
	hello := func(token, id string) *peer {
		t.Helper()
		p := r.connect(token)
		p.send(`{"t":"hello","proto":1,"client":{"id":"` + id + `"}}`)
		expect[*protocol.Welcome](p)
		return p
	}
	alive := func(name string, p *peer) {
		t.Helper()
		p.send(`{"t":"nope"}`)
		if e := expect[*protocol.ErrFrame](p); e.Error.Code != protocol.BadRequest {
			t.Errorf("%s: %+v", name, e.Error)
		}
	}
	first, nameless, stranger := hello(r.admin, "c_1"), hello(r.admin, ""), hello(other, "c_1")
	second := hello(r.admin, "c_1")
	if code := first.closed(); code != protocol.CloseSuperseded {
		t.Errorf("the first connection closed with %d", code)
	}
	another := hello(r.admin, "c_2")
	third := hello(r.admin, "c_1")
	if code := second.closed(); code != protocol.CloseSuperseded {
		t.Errorf("the second connection closed with %d", code)
	}
	hello(r.admin, "")
	alive("a client without an id", nameless)
	alive("another principal", stranger)
	alive("another id", another)
	alive("the newest", third)
	long := r.connect(r.admin)
	long.send(`{"t":"hello","proto":1,"client":{"id":"` + strings.Repeat("x", 65) + `"}}`)
	if e := expect[*protocol.ErrFrame](long); !strings.Contains(e.Error.Message, "client.id") {
		t.Errorf("a long id: %+v", e.Error)
	}
}

// TestHeadersAreBounded: a request line and headers above the limit are refused
// before anything looks at them.
func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	r := start(t)
	for size, want := range map[int]int{32 << 10: http.StatusUnauthorized, 128 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		conn, err := net.DialTimeout("tcp", r.url[len("http://"):], patience)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(patience))
		fmt.Fprintf(conn, "GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nX-Large: %s\r\n\r\n", strings.Repeat("x", size))
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		conn.Close()
		if response.StatusCode != want {
			t.Errorf("headers of %d bytes answered %d, want %d", size, response.StatusCode, want)
		}
	}
}
