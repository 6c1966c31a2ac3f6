package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plinthhost/plinth/host/process"
)

// connection is one conversation with a server, from its start to its end.
type connection struct {
	client  *sdk.ClientSession
	changed chan struct{}  // has a token when the server says that its list changed
	ended   chan struct{}  // closed when no more can be said
	ending  sync.Once      // of ended
	finish  func(bool)     // ends what carries it; true for one that is to end in peace
	why     func() string  // says more of an end, "" for nothing
	silent  chan struct{}  // has a token when a call was not answered in time
	calls   atomic.Int64   // that were begun, for their tokens
	shown   sync.Map       // how the progress of a call is shown, by its token
	wait    sync.WaitGroup // for what it runs
}

// farewell is how long a server has to answer that it is left.
const farewell = 2 * time.Second

// connect starts a server, or reaches it. The caller closes the connection.
func (s *server) connect(ctx context.Context) (*connection, error) {
	c := &connection{changed: make(chan struct{}, 1), silent: make(chan struct{}, 1), ended: make(chan struct{}), why: func() string { return "" }}
	transport, err := s.transport(ctx, c)
	if err != nil {
		return nil, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "plinth", Version: s.hub.options.Version}, &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{}, // no roots, no sampling, no elicitation
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case c.changed <- struct{}{}:
			default:
			}
		},
		ProgressNotificationHandler: func(_ context.Context, request *sdk.ProgressNotificationClientRequest) { c.progressed(request.Params) },
	})
	c.client, err = client.Connect(ctx, transport, nil)
	if err != nil {
		why := c.why
		c.finish(false)
		if ctx.Err() != nil {
			err = errors.New("it did not answer in time")
		}
		return nil, s.hub.told(fmt.Errorf("begin with it: %w%s", err, why()))
	}
	c.wait.Go(func() {
		_ = c.client.Wait() // how it ended is in why
		c.lost()
	})
	return c, nil
}

// lost notes that no more can be said.
func (c *connection) lost() { c.ending.Do(func() { close(c.ended) }) }

// over reports whether that is known.
func (c *connection) over() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// close ends a connection and waits for that.
func (c *connection) close() {
	late := time.AfterFunc(farewell, func() { c.finish(false) })
	_ = c.client.Close()
	late.Stop()
	c.finish(true)
	c.wait.Wait()
}

// transport makes what carries the connection.
func (s *server) transport(ctx context.Context, c *connection) (sdk.Transport, error) {
	if s.config.URL != "" {
		life, end := context.WithCancel(context.WithoutCancel(ctx))
		carrier, err := s.carry(ctx, life)
		if err != nil {
			end()
			return nil, err
		}
		c.finish = func(bool) { end(); _ = carrier.client.Close() }
		return &sdk.StreamableClientTransport{Endpoint: s.config.URL, HTTPClient: carrier.httpClient(), MaxEventSize: maxMessage}, nil
	}
	environment := map[string]string{}
	for name, value := range s.config.Environment {
		resolved, err := s.hub.resolve(ctx, value)
		if err != nil {
			return nil, fmt.Errorf("the variable %s: %w", name, err)
		}
		environment[name] = resolved
	}
	spoken := &diary{logger: s.logger, scrub: s.hub.scrub}
	peer, err := s.hub.options.Processes.Open(process.Command{Argv: s.config.Command, Directory: s.hub.options.Directory, Environment: environment,
		Output: process.Capture{SaveErrors: spoken, SaveLimit: maxDiary}})
	if err != nil {
		return nil, err
	}
	c.finish = func(bool) { peer.Close() }
	c.why = func() string { return s.epitaph(peer.Close()) }
	return &sdk.IOTransport{Reader: peer.Output(), Writer: peer.Input(), MaxLineLength: maxMessage}, nil
}

// epitaph says how a program ended and what it printed last.
func (s *server) epitaph(result process.Result) string {
	text := ""
	switch {
	case result.Stopped == process.Crowd:
		text = "; it had too many processes"
	case result.Signal != "" && result.Stopped == "":
		text = "; it ended by " + result.Signal
	case result.ExitCode >= 0 && result.Stopped == "":
		text = "; it ended with the code " + strconv.Itoa(result.ExitCode)
	}
	last := result.Errors.Tail
	if last == "" {
		last = result.Errors.Head
	}
	lines := bytes.Split(bytes.TrimSpace([]byte(last)), []byte("\n"))
	// Scrubbed before it is cut: a part of a secret is none that the scrubber knows.
	if said := line(s.hub.scrub(string(lines[len(lines)-1])), 200); said != "" {
		text += "; the last it said is: " + said
	}
	return text
}

// maxDiary is how much of what a program says on standard error is logged, in bytes, for
// each of its starts.
const maxDiary = 1 << 20

// maxSaid bounds what is kept of a line until its end, and maxLogged what is logged of
// it, in bytes. What lies between lets a secret be found whole that the log would cut.
const (
	maxSaid   = 4096
	maxLogged = 1024
)

// diary logs what a program says, line by line.
type diary struct {
	logger hclog.Logger
	scrub  func(string) string
	rest   []byte
	logged bool // the beginning of the line that rest belongs to
}

func (d *diary) Write(text []byte) (int, error) {
	d.rest = append(d.rest, text...)
	for {
		end := bytes.IndexByte(d.rest, '\n')
		if end < 0 && len(d.rest) <= maxSaid {
			return len(text), nil
		}
		whole := end >= 0
		if !whole {
			end = len(d.rest)
		}
		if said := line(d.scrub(string(d.rest[:end])), maxLogged); said != "" && !d.logged {
			d.logger.Info("it says", "line", said)
		}
		d.logged = !whole
		d.rest = bytes.TrimPrefix(d.rest[end:], []byte("\n"))
	}
}

// progressed shows how far a call is.
func (c *connection) progressed(params *sdk.ProgressNotificationParams) {
	token, ok := params.ProgressToken.(string)
	if !ok {
		return
	}
	if show, ok := c.shown.Load(token); ok {
		show.(func(*sdk.ProgressNotificationParams))(params)
	}
}
