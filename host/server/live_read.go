package server

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gorilla/websocket"

	"github.com/plinthhost/plinth/client/protocol"
)

// readFrame reads one client frame. A *protocol.FrameError is a bad frame, after
// which reading goes on; any other error ends the connection.
func (c *conn) readFrame() (any, error) {
	kind, r, err := c.ws.NextReader()
	if err != nil {
		return nil, errLost
	}
	data, err := io.ReadAll(io.LimitReader(r, protocol.MaxFrame+1))
	if err != nil {
		return nil, errLost
	}
	if len(data) > protocol.MaxFrame {
		return nil, &closing{protocol.CloseFrameSize, fmt.Sprintf("the frame is larger than %d bytes, the limit; send less", protocol.MaxFrame)}
	}
	c.heard.Store(true)
	if kind != websocket.TextMessage {
		return nil, &protocol.FrameError{Err: protocol.Errorf(protocol.BadRequest, "frames are text, not binary")}
	}
	return protocol.ParseClientFrame(data)
}

// read takes frames until the connection ends and answers why. It hands what the
// writer owns to the writer and starts requests, which run under their own
// context.
func (c *conn) read(ctx, requests context.Context) error {
	c.ws.SetPongHandler(func(string) error { c.heard.Store(true); return nil })
	for {
		frame, err := c.readFrame()
		var bad *protocol.FrameError
		switch {
		case errors.As(err, &bad):
			c.command(ctx, errFrame(bad))
			continue
		case err != nil:
			return err
		}
		switch frame := frame.(type) {
		case *protocol.Sub, *protocol.Unsub:
			c.command(ctx, frame)
		case *protocol.Req:
			c.request(ctx, requests, frame)
		case *protocol.Ack:
			c.refuse(ctx, frame.Sub, "ack: windows are not served by this version")
		case *protocol.Hello:
			c.refuse(ctx, "", "hello: the connection has one already")
		case *protocol.Pong: // it was heard, which is all a pong is for
		}
	}
}

// command hands something to the writer and waits for room.
func (c *conn) command(ctx context.Context, cmd command) {
	select {
	case c.commands <- cmd:
	case <-ctx.Done():
	}
}

func (c *conn) refuse(ctx context.Context, of, text string) {
	c.command(ctx, errFrame(&protocol.FrameError{Of: of, Err: protocol.Errorf(protocol.BadRequest, "%s", text)}))
}

// request runs one request beside the others.
func (c *conn) request(ctx, requests context.Context, req *protocol.Req) {
	if ctx.Err() != nil {
		return // the server says bye; what is in flight is still answered
	}
	if c.inflight.Add(1) > maxInflight {
		c.inflight.Add(-1)
		c.command(ctx, failed(req.ID, protocol.Errorf(protocol.Busy, "%d requests are in flight, the limit", maxInflight)))
		return
	}
	c.requests.Go(func() {
		// The place is free when the writer has taken the result.
		c.results <- c.call(requests, req)
	})
}

func failed(id string, err *protocol.Error) protocol.Res {
	return protocol.Res{T: "res", ID: id, Error: err}
}
