package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// server keeps a connection to one configured server.
type server struct {
	hub    *Hub
	config Server
	logger hclog.Logger
	ctx    context.Context // until it is configured no more
	end    context.CancelFunc
	poke   chan struct{} // has a token when somebody wants it looked at
	first  chan struct{} // closed when it was tried once
	tried  sync.Once

	mu      sync.Mutex
	again   bool // the connection is to be opened anew
	live    *connection
	next    chan struct{} // closed when there is a connection, or the next try failed
	reason  error         // why there is none
	catalog catalog       // the last that it had
	listed  bool          // it ever had one
}

func (s Server) timeout() time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return DefaultTimeout
}

func newServer(hub *Hub, config Server) *server {
	s := &server{hub: hub, config: config, logger: hub.options.Logger.Named(config.Name), poke: make(chan struct{}, 1), first: make(chan struct{}),
		next: make(chan struct{}), reason: errors.New("it has not been started yet")}
	s.ctx, s.end = context.WithCancel(hub.ctx)
	return s
}

// errAgain ends a connection that is to be opened anew, or not to be there.
var errAgain = errors.New("it is started again")

// run keeps the connection until the end.
func (s *server) run() {
	defer s.settle()
	defer s.down(errors.New("it is not configured any more, or the host ends"))
	restarts := pace{first: s.hub.options.Pause}
	for s.ctx.Err() == nil {
		if !s.hub.options.Publisher.Wanted(s.config.Name) {
			s.down(errors.New("it is disabled"))
			s.settle()
			s.hub.publish()
			s.wait(nil)
			continue
		}
		began := time.Now()
		err := s.converse()
		if s.ctx.Err() != nil {
			return
		}
		s.down(err)
		if errors.Is(err, errAgain) {
			s.settle()
			restarts.next = 0
			continue
		}
		restarts.calm(time.Since(began))
		pause := restarts.wait()
		s.logger.Warn("the MCP server is not there", "reason", err, "again_in", pause)
		s.hub.options.Publisher.Failed(s.config.Name, err)
		s.settle() // whoever waited for the try knows how it came out
		timer := time.NewTimer(pause)
		s.wait(timer.C)
		timer.Stop()
	}
}

// wait waits for a time, to be looked at or for the end.
func (s *server) wait(over <-chan time.Time) {
	select {
	case <-over:
	case <-s.poke:
	case <-s.ctx.Done():
	}
}

// converse has one connection from its start to its end, and answers why that came.
func (s *server) converse() error {
	s.asked() // whatever was, this is anew
	ctx, cancel := context.WithTimeout(s.ctx, s.hub.options.Patience)
	defer cancel()
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	if err := s.take(ctx, c); err != nil {
		return err
	}
	s.hub.options.Publisher.Failed(s.config.Name, nil)
	s.hub.publish()
	s.up(c)
	s.settle()
	return s.attend(c)
}

// attend follows the connection's changes to its end.
func (s *server) attend(c *connection) error {
	ctx, cancel := context.WithCancel(s.ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	asking.Go(func() { s.doubt(ctx, c) })
	changes, last := pace{first: s.hub.options.Pause}, time.Now()
	for {
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-c.ended:
			return fmt.Errorf("the connection ended%s", c.why())
		case <-s.poke:
			if s.stale() {
				return errAgain
			}
		case <-c.changed:
			changes.calm(time.Since(last))
			if err := s.changes(c, changes.wait()); err != nil {
				return err
			}
			last = time.Now()
		}
	}
}

// changes takes the list that the server has after a pause: one that changes all the time
// is read less and less often.
func (s *server) changes(c *connection, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for over := false; !over; {
		select {
		case <-timer.C:
			over = true
		case <-s.poke:
			if s.stale() {
				return errAgain
			}
		case <-c.ended:
			return nil // the caller sees it too
		case <-s.ctx.Done():
			return nil
		}
	}
	select {
	case <-c.changed: // what came in the pause is read now
	default:
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.hub.options.Patience)
	defer cancel()
	if err := s.take(ctx, c); err != nil {
		return err
	}
	s.hub.publish()
	return nil
}

// doubt asks a server that did not answer a call in time whether it is there at all. One
// that answers nothing is left, to be started again: else every call to it took its time.
func (s *server) doubt(ctx context.Context, c *connection) {
	for {
		select {
		case <-c.silent:
		case <-ctx.Done():
			return
		}
		patience, cancel := context.WithTimeout(ctx, s.hub.options.Patience)
		err := c.guarded(patience, func() error { return c.client.Ping(patience, nil) })
		cancel()
		// One that does not know the ping has answered, too.
		if _, answered := errors.AsType[*jsonrpc.Error](err); err != nil && !answered && ctx.Err() == nil && !c.over() {
			s.logger.Warn("the MCP server answers nothing any more", "reason", s.hub.told(err))
			c.lost()
		}
	}
}

// stale reports whether the connection is to be opened anew, or not to be there.
func (s *server) stale() bool {
	return s.asked() || !s.hub.options.Publisher.Wanted(s.config.Name)
}

// take reads the list of tools.
func (s *server) take(ctx context.Context, c *connection) error {
	listed, notes, err := list(ctx, s.config, c.client)
	if err != nil {
		if c.over() {
			err = fmt.Errorf("%w%s", err, c.why())
		}
		return s.hub.told(err)
	}
	for i, note := range notes {
		if i == 10 {
			s.logger.Warn("more tools of the MCP server are left out", "count", len(notes)-i)
			break
		}
		s.logger.Warn("the MCP server's list", "note", s.hub.scrub(note))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catalog, s.listed = listed, true
	return nil
}

// up has calls go over a connection.
func (s *server) up(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live, s.reason = c, errors.New("its connection ended")
	close(s.next)
	s.next = make(chan struct{})
}

// down has calls fail until there is a connection again. Those that wait for one hear of
// a try that failed, not of the end of the connection before.
func (s *server) down(reason error) {
	s.mu.Lock()
	if s.live == nil || s.ctx.Err() != nil {
		close(s.next)
		s.next = make(chan struct{})
	}
	s.live, s.reason = nil, reason
	s.mu.Unlock()
}

// settle notes that the server was tried.
func (s *server) settle() {
	s.tried.Do(func() {
		close(s.first)
		s.hub.publish()
	})
}

// look has the server looked at; with anew its connection is opened anew. It answers
// whether there is one, and what is closed when the next try has come out.
func (s *server) look(anew bool) (live bool, next <-chan struct{}) {
	s.mu.Lock()
	s.again = s.again || anew
	live, next = s.live != nil, s.next
	s.mu.Unlock()
	select {
	case s.poke <- struct{}{}:
	default:
	}
	return live, next
}

func (s *server) asked() (again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	again, s.again = s.again, false
	return again
}

// known is the list that the server had last.
func (s *server) known() (catalog, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.catalog, s.listed
}

// reach answers the connection. While the server is started again it waits for that, for
// a moment.
func (s *server) reach(ctx context.Context) (*connection, error) {
	over := time.NewTimer(restartPatience)
	defer over.Stop()
	for waited := false; ; waited = true {
		s.mu.Lock()
		live, next, reason := s.live, s.next, s.reason
		s.mu.Unlock()
		if live != nil && !live.over() {
			return live, nil
		}
		if waited || s.ctx.Err() != nil || !s.hub.options.Publisher.Wanted(s.config.Name) {
			return nil, reason
		}
		select {
		case <-next:
		case <-over.C:
			return nil, reason
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// restartPatience is how long a call waits for a server that is started again.
const restartPatience = 5 * time.Second
