package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/plinthhost/plinth/client/protocol"
)

// subName is the name of a follower's only subscription.
const subName = "s1"

// lostError is a connection that failed and may be tried again.
type lostError struct {
	cause error
	wait  time.Duration // at least so long
}

func (e *lostError) Error() string { return "connection lost: " + e.cause.Error() }

func (e *lostError) Unwrap() error { return e.cause }

var errBye = errors.New("the host is shutting down")

// live is one connection after its handshake, used by one goroutine.
type live struct {
	ws      *websocket.Conn
	silence time.Duration // the longest time without anything from the host
	stop    func() bool
}

// openLive connects and shakes hands. A *lostError may be tried again.
func (c *Client) openLive(ctx context.Context) (*live, error) {
	header := http.Header{}
	c.authorise(header)
	target := "ws" + strings.TrimPrefix(c.base, "http") + protocol.LivePath
	ws, response, err := c.dialer.DialContext(ctx, target, header)
	if err != nil {
		return nil, dialError(c.options.Address, response, err)
	}
	// Ending ctx ends a read or write that waits.
	l := &live{ws: ws, silence: 30 * time.Second}
	l.stop = context.AfterFunc(ctx, func() { ws.NetConn().Close() })
	ws.SetReadLimit(4 * protocol.MaxFrame)
	ws.SetPingHandler(func(data string) error {
		l.extend()
		return ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(l.silence))
	})
	if err := l.handshake(c.options); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// dialError tells a refusal, which is final, from a host that is away.
func dialError(address string, response *http.Response, err error) error {
	if response == nil {
		return &lostError{cause: unreachable(address, err)}
	}
	defer response.Body.Close()
	body, readErr := io.ReadAll(io.LimitReader(response.Body, protocol.MaxFrame))
	if readErr != nil {
		return &lostError{cause: unreachable(address, readErr)}
	}
	refused := problem(response, body)
	if refused.Retryable {
		return &lostError{cause: refused}
	}
	return refused
}

func (l *live) handshake(options Options) error {
	hello := protocol.Hello{
		T: "hello", Proto: protocol.Version, Want: protocol.Want{Pong: true},
		Client: protocol.ClientInfo{Name: options.Name, Version: options.Version},
	}
	if err := l.send(hello); err != nil {
		return err
	}
	frame, err := l.read()
	if err != nil {
		return err
	}
	welcome, ok := frame.(*protocol.Welcome)
	if !ok {
		return protocol.Errorf(protocol.Internal, "the host answered hello with %T", frame)
	}
	if welcome.HeartbeatMS > 0 {
		l.silence = 3 * time.Duration(welcome.HeartbeatMS) * time.Millisecond
	}
	return nil
}

// read answers the next frame this version knows.
func (l *live) read() (any, error) {
	for {
		l.extend()
		_, data, err := l.ws.ReadMessage()
		if err != nil {
			return nil, l.readError(err)
		}
		frame, err := protocol.ParseServerFrame(data)
		if err != nil {
			return nil, &lostError{cause: err}
		}
		if frame != nil {
			return frame, nil
		}
	}
}

// extend gives the host its time again.
func (l *live) extend() {
	_ = l.ws.SetReadDeadline(time.Now().Add(l.silence)) // a closed socket fails the read itself
}

// readError tells a close that is final from a lost connection.
func (l *live) readError(err error) error {
	var closed *websocket.CloseError
	if errors.As(err, &closed) && !protocol.Reconnect(closed.Code) {
		return closeError(closed)
	}
	return &lostError{cause: err}
}

// closeError is the final close of a host as a wire error.
func closeError(closed *websocket.CloseError) error {
	switch closed.Code {
	case protocol.CloseAuth, protocol.CloseRevoked:
		return protocol.Errorf(protocol.Unauthenticated, "%s", closed.Text)
	case protocol.CloseOrigin:
		return protocol.Errorf(protocol.Forbidden, "%s", closed.Text)
	case protocol.CloseFrameSize:
		return protocol.Errorf(protocol.TooLarge, "%s", closed.Text)
	case protocol.CloseSuperseded:
		return protocol.Errorf(protocol.Conflict, "%s", closed.Text)
	case protocol.CloseNormal:
		return &lostError{cause: closed}
	default:
		return protocol.Errorf(protocol.BadRequest, "the host closed with %d: %s", closed.Code, closed.Text)
	}
}

func (l *live) send(frame any) error {
	data, err := json.Marshal(frame)
	if err != nil {
		return fmt.Errorf("encode frame: %w", err)
	}
	if err := l.ws.SetWriteDeadline(time.Now().Add(l.silence)); err != nil {
		return &lostError{cause: err}
	}
	if err := l.ws.WriteMessage(websocket.TextMessage, data); err != nil {
		return &lostError{cause: err}
	}
	return nil
}

// close ends the connection politely and waits for nothing.
func (l *live) close() {
	l.stop()
	message := websocket.FormatCloseMessage(protocol.CloseNormal, "")
	_ = l.ws.WriteControl(websocket.CloseMessage, message, time.Now().Add(100*time.Millisecond)) // it may be gone
	l.ws.Close()
}
