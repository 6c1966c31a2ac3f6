// Command follow prints the events of one session, one line each, as they happen.
// A lost connection costs nothing: it connects again and goes on behind the last
// event it printed. The place is kept in a file, so that a later run goes on too.
//
//	PLINTH_TOKEN=… follow http://127.0.0.1:4747 ses_… FILE
//
// It uses the frames of docs/reference/protocol.md and nothing of Plinth.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: PLINTH_TOKEN=… follow http://HOST:PORT SESSION FILE")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	f := &follower{address: os.Args[1], token: os.Getenv("PLINTH_TOKEN"), session: os.Args[2], file: os.Args[3]}
	if err := f.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "follow:", err)
		os.Exit(1)
	}
}

// follower follows one session.
type follower struct {
	address, token, session string
	file                    string
	cursor                  string        // behind the last event that was printed; empty is the beginning
	wait                    time.Duration // before the next attempt to connect
}

// fatalError is an error that another attempt will not mend.
type fatalError struct{ error }

// The waits between attempts to connect.
const (
	firstWait   = 250 * time.Millisecond
	longestWait = 15 * time.Second
)

// run connects until ctx ends or the host says that it is no use.
func (f *follower) run(ctx context.Context) error {
	saved, err := os.ReadFile(f.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f.cursor, f.wait = string(saved), firstWait
	for {
		err := f.connection(ctx)
		var final fatalError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &final):
			return err
		}
		fmt.Fprintf(os.Stderr, "follow: %v; connecting again\n", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(f.wait/2 + rand.N(f.wait)): // so that many clients do not come at once
		}
		f.wait = min(2*f.wait, longestWait)
	}
}

// connection is one connection from its handshake to its end.
func (f *follower) connection(ctx context.Context) error {
	header := http.Header{"Authorization": {"Bearer " + f.token}}
	dialer := websocket.Dialer{Subprotocols: []string{"plinth.v1.json"}, HandshakeTimeout: 10 * time.Second}
	ws, response, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(f.address, "http")+"/v1/live", header)
	if err != nil {
		return refused(response, err)
	}
	defer ws.Close()
	defer context.AfterFunc(ctx, func() { ws.Close() })()
	silence := 60 * time.Second // three heartbeats
	ws.SetPingHandler(func(data string) error {
		return errors.Join(ws.SetReadDeadline(time.Now().Add(silence)),
			ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(time.Second)))
	})
	for _, frame := range []any{
		map[string]any{"t": "hello", "proto": 1, "client": map[string]string{"name": "follow"}},
		map[string]any{"t": "sub", "sub": "s", "scope": "session", "session": f.session, "after": f.cursor},
	} {
		if err := ws.WriteJSON(frame); err != nil {
			return err
		}
	}
	last := int64(-2) // sequence of the last event on this connection, -2 before the first
	for {
		var in frame
		err := errors.Join(ws.SetReadDeadline(time.Now().Add(silence)), ws.ReadJSON(&in))
		if err != nil {
			return closed(err)
		}
		if err := f.take(in, &last); err != nil {
			return err
		}
	}
}

// frame has the fields of the server's frames that this program looks at. Frames
// and fields it does not know are none of its business.
type frame struct {
	T           string          `json:"t"`
	Seq         int64           `json:"seq"`
	Prev        int64           `json:"prev"`
	Cursor      string          `json:"cursor"`
	Type        string          `json:"type"`
	Data        json.RawMessage `json:"data"`
	Reason      string          `json:"reason"`
	First       string          `json:"first"`
	ReconnectMS int64           `json:"reconnect_ms"`
	Error       struct {
		Message   string `json:"message"`
		Retryable bool   `json:"retryable"`
	} `json:"error"`
}

// take handles one frame. An error ends the connection.
func (f *follower) take(in frame, last *int64) error {
	switch in.T {
	case "subscribed":
		f.wait = firstWait
	case "ev":
		if *last >= -1 && in.Prev != *last {
			return fmt.Errorf("event %d follows %d, not %d", in.Seq, in.Prev, *last)
		}
		*last = in.Seq
		fmt.Printf("%d %s %s\n", in.Seq, in.Type, in.Data)
		return f.keep(in.Cursor)
	case "mark", "live":
		return f.keep(in.Cursor)
	case "reset": // the cursor is of another log, or its events are gone
		if err := f.keep(in.First); err != nil {
			return err
		}
		return fmt.Errorf("the cursor cannot be resumed (%s); starting over", in.Reason)
	case "end":
		if in.Reason == "failed" {
			return errors.New("the host could not read the session")
		}
		return fatalError{fmt.Errorf("the subscription ended: %s", in.Reason)}
	case "err":
		if in.Error.Retryable {
			return errors.New(in.Error.Message)
		}
		return fatalError{errors.New(in.Error.Message)}
	case "bye":
		f.wait = time.Duration(in.ReconnectMS) * time.Millisecond
	}
	return nil
}

// keep remembers the place behind what was printed. A crash between the two prints
// one event again.
func (f *follower) keep(cursor string) error {
	f.cursor = cursor
	if err := os.WriteFile(f.file+".new", []byte(cursor), 0o600); err != nil {
		return fatalError{err}
	}
	if err := os.Rename(f.file+".new", f.file); err != nil {
		return fatalError{err}
	}
	return nil
}

// refused tells an upgrade that the host refused for good from one to try again. The
// answer is a problem, as over HTTP.
func refused(response *http.Response, err error) error {
	if response == nil {
		return err
	}
	defer response.Body.Close()
	var problem struct {
		Detail    string `json:"detail"`
		Retryable bool   `json:"retryable"`
	}
	if json.NewDecoder(response.Body).Decode(&problem) != nil || problem.Retryable {
		return err
	}
	return fatalError{errors.New(problem.Detail)}
}

// closed tells a close after which connecting again is no use from a lost connection.
func closed(err error) error {
	var end *websocket.CloseError
	if !errors.As(err, &end) {
		return err
	}
	switch end.Code {
	case 4001, 4002, 4004, 4005, 4006, 4007, 4012:
		return fatalError{end}
	}
	return err
}
