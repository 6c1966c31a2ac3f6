package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Server is a running Chat Completions server.
type Server struct {
	// URL is the base URL, with "/v1".
	URL string

	script Script
	key    string
	http   *http.Server
	served chan struct{}

	mu       sync.Mutex
	handlers sync.WaitGroup
	closed   bool
	requests []*Request
}

// Options configure a Server.
type Options struct {
	// Address to listen on; "127.0.0.1:0" when empty.
	Address string
	// Key, when not empty, must come as the bearer token.
	Key string
}

// Start starts a server that answers from script. The caller closes it.
func Start(script Script, options Options) (*Server, error) {
	address := options.Address
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("start the chat server: %w", err)
	}
	s := &Server{
		URL:    "http://" + listener.Addr().String() + "/v1",
		script: script, key: options.Key, served: make(chan struct{}),
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener)
	}()
	return s, nil
}

// Close drops the connections and waits for the handlers. A second call does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.http.Close()
	<-s.served
	s.handlers.Wait()
	return err
}

// Requests answers the requests that were well formed, in the order they came.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := make([]Request, 0, len(s.requests))
	for _, request := range s.requests {
		requests = append(requests, *request)
	}
	return slices.Clip(requests)
}

// ServeHTTP answers POST /v1/chat/completions.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.handlers.Done()
	if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" {
		fail(w, http.StatusNotFound, "invalid_request_error", "no such route: "+r.Method+" "+r.URL.Path)
		return
	}
	if s.key != "" && r.Header.Get("Authorization") != "Bearer "+s.key {
		fail(w, http.StatusUnauthorized, "invalid_api_key", "the API key is missing or wrong")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_request_error", "the body cannot be read: "+err.Error())
		return
	}
	request, err := parse(body)
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	request.Header, request.Received = r.Header.Clone(), time.Now()
	record := s.record(request)
	defer s.finish(record)
	a := &answer{w: w, request: request, turn: s.script(request), done: r.Context().Done()}
	if err := a.send(); errors.Is(err, errCut) {
		panic(http.ErrAbortHandler)
	}
}

// enter counts a handler, unless the server is closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.handlers.Add(1)
	return true
}

func (s *Server) record(request Request) *Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, &request)
	return &request
}

func (s *Server) finish(record *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	record.Took = time.Since(record.Received)
}

// fail answers an error in the API's form.
func fail(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": nil}})
}
