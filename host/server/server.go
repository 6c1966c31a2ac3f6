package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/hashicorp/go-hclog"
)

// Server serves one backend. Make it with New.
type Server struct {
	options  Options
	backend  Backend
	logger   hclog.Logger
	methods  map[string]method
	upgrader websocket.Upgrader
	http     *http.Server
	hosts    map[string]bool
	origins  map[string]bool

	// draining ends when Close begins; what is long-lived ends with it. base ends
	// when the drain's time is over, and with it every request.
	draining context.Context
	drain    context.CancelCauseFunc
	base     context.Context
	abort    context.CancelFunc

	live    chan struct{}  // one place per live connection or stream
	uploads chan struct{}  // one place per file that is being taken
	imports chan struct{}  // one place, for the import that is running
	tasks   sync.WaitGroup // accept loops and live connections

	mu        sync.Mutex
	clients   map[clientKey]*context.CancelCauseFunc // live connections of clients with an id
	listeners []net.Listener
	state     state
}

type state int

const (
	stateNew state = iota
	stateServing
	stateClosed
)

// New makes a server that does not listen yet.
func New(options Options, backend Backend) (*Server, error) {
	options = options.withDefaults()
	if err := options.check(); err != nil {
		return nil, fmt.Errorf("configure server: %w", err)
	}
	s := &Server{
		options: options, backend: backend, logger: options.Logger,
		live:    make(chan struct{}, options.MaxLive),
		uploads: make(chan struct{}, maxUploads),
		imports: make(chan struct{}, 1),
		clients: map[clientKey]*context.CancelCauseFunc{},
	}
	s.draining, s.drain = context.WithCancelCause(context.Background())
	s.base, s.abort = context.WithCancel(context.Background())
	s.hosts, s.origins = options.allowed()
	s.methods = s.methodTable()
	s.upgrader = s.newUpgrader()
	s.http = &http.Server{
		Handler:           s.check(s.routes()),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          s.logger.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Warn}),
		BaseContext:       func(net.Listener) context.Context { return s.base },
		ConnContext:       s.connContext,
	}
	return s, nil
}

// Start opens the listeners and returns when they accept.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != stateNew {
		return errors.New("start server: it was started or closed before")
	}
	listeners, err := listen(ctx, s.options)
	if err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	s.listeners, s.state = listeners, stateServing
	for _, listener := range listeners {
		s.tasks.Go(func() { s.accept(listener) })
	}
	return nil
}

func (s *Server) accept(listener net.Listener) {
	if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		s.logger.Error("the server stopped accepting", "address", listener.Addr().String(), "error", err)
	}
}

// Addr answers the TCP address the server listens on, nil without one.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, listener := range s.listeners {
		if listener.Addr().Network() == "tcp" {
			return listener.Addr()
		}
	}
	return nil
}

// Close stops accepting, tells live connections to come back later, waits for
// requests in flight and ends what is left after the drain's time. It returns
// when nothing runs any more. Safe twice, and without Start.
func (s *Server) Close() error {
	s.mu.Lock()
	s.state = stateClosed
	s.mu.Unlock()

	s.drain(errDraining)
	timeout := time.AfterFunc(s.options.DrainTimeout, s.abort)
	defer timeout.Stop()
	err := s.http.Shutdown(s.base)
	if err != nil {
		err = s.http.Close()
	}
	s.tasks.Wait()
	s.abort()
	if err != nil {
		return fmt.Errorf("close server: %w", err)
	}
	return nil
}
