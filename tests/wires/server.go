package wires

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Protocol is one wire format.
type Protocol struct {
	Name   string
	Plugin string // the id of the builtin that speaks it
	Model  string // a name that the protocol's own models could have
	Base   string // the path of the base URL
	Signs  bool   // whether reasoning is signed or encrypted

	contentType string
	// model is the name that a path asks, "" for one that the protocol does not have; a
	// protocol with the name in the body answers any other text.
	model   func(path string) string
	key     func(header http.Header) string
	parse   func(model string, body []byte) (Request, error)
	frames  func(request Request, turn Turn) []frame
	encode  func(frame frame) []byte
	garbage []byte
	// refusal is the body of an error.
	refusal func(status int, kind Kind, text string) any
	// overflow says that the request is longer than the window.
	overflow string
}

// frame is one piece of a streamed answer.
type frame struct {
	event string
	data  any
}

// All are the protocols by name.
func All() []Protocol { return []Protocol{Anthropic(), Bedrock(), Chat(), Gemini(), Responses()} }

// Server is a running server.
type Server struct {
	// URL is the base URL.
	URL string

	protocol Protocol
	script   Script
	options  Options
	http     *http.Server
	served   chan struct{}

	mu       sync.Mutex
	handlers sync.WaitGroup
	closed   bool
	requests []Request
	signed   []string
}

// Options configure a Server.
type Options struct {
	// Key, when not empty, must come as the protocol's key.
	Key string
	// Signed refuses a request that has more turns than one and not every signature
	// that was given.
	Signed bool
}

// Start starts a server that answers from script. The caller closes it.
func Start(protocol Protocol, script Script, options Options) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the %s server: %w", protocol.Name, err)
	}
	s := &Server{URL: "http://" + listener.Addr().String() + protocol.Base, protocol: protocol, script: script, options: options, served: make(chan struct{})}
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
	return slices.Clone(s.requests)
}

// ServeHTTP answers the protocol's one route.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.handlers.Done()
	path, ok := strings.CutPrefix(r.URL.Path, s.protocol.Base)
	model := s.protocol.model(path)
	if r.Method != http.MethodPost || !ok || model == "" {
		s.refuse(w, http.StatusNotFound, "", "no such route: "+r.Method+" "+r.URL.Path)
		return
	}
	key := s.protocol.key(r.Header)
	if s.options.Key != "" && key != s.options.Key {
		s.refuse(w, http.StatusUnauthorized, Key, "the API key is missing or wrong")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err != nil {
		s.refuse(w, http.StatusBadRequest, "", "the body cannot be read: "+err.Error())
		return
	}
	request, err := s.protocol.parse(model, body)
	if err == nil {
		request.Body, request.Header, request.Path, request.Received = body, r.Header.Clone(), r.URL.RequestURI(), time.Now()
		err = s.take(request)
	}
	if err != nil {
		s.refuse(w, http.StatusBadRequest, "", err.Error())
		return
	}
	turn := s.script(request)
	if turn.Fault.Kind != "" {
		s.fault(w, turn.Fault, key)
		return
	}
	if err := s.stream(w, request, turn); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.handlers.Add(1)
	return true
}

// take checks a request and keeps it.
func (s *Server) take(request Request) error {
	if err := request.checkOrder(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.options.Signed && request.Turn > 0 && !slices.Equal(request.Signatures, s.signed) {
		return fmt.Errorf("the reasoning came back with the signatures %q; it was given %q", request.Signatures, s.signed)
	}
	s.requests = append(s.requests, request)
	return nil
}

// errCut is the script's wish to drop the connection.
var errCut = errors.New("cut by the script")

// stream writes the turn's frames.
func (s *Server) stream(w http.ResponseWriter, request Request, turn Turn) error {
	if turn.Reasoning != "" && s.protocol.Signs {
		s.mu.Lock()
		s.signed = append(s.signed, signature(request.Turn))
		s.mu.Unlock()
	}
	w.Header().Set("Content-Type", s.protocol.contentType)
	control := http.NewResponseController(w)
	for i, frame := range s.protocol.frames(request, turn) {
		piece := s.protocol.encode(frame)
		switch i + 1 {
		case turn.Fault.Cut:
			return errCut
		case turn.Fault.Garbage:
			piece = s.protocol.garbage
		}
		if _, err := w.Write(piece); err != nil {
			return err
		}
		if err := control.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// fault answers what the script wants to go wrong.
func (s *Server) fault(w http.ResponseWriter, fault Fault, key string) {
	switch fault.Kind {
	case Overflow:
		s.refuse(w, http.StatusBadRequest, Overflow, s.protocol.overflow)
	case RateLimit:
		w.Header().Set("Retry-After", strconv.Itoa(fault.RetryAfter))
		s.refuse(w, http.StatusTooManyRequests, RateLimit, "Too many requests, please slow down")
	case Quota:
		s.refuse(w, http.StatusTooManyRequests, Quota, "You exceeded your current quota, please check your plan")
	case Key:
		s.refuse(w, http.StatusUnauthorized, Key, "the key "+key+" is wrong")
	case TooLarge:
		s.refuse(w, http.StatusRequestEntityTooLarge, TooLarge, "the payload is refused")
	default:
		s.refuse(w, http.StatusServiceUnavailable, Unavailable, "come back later")
	}
}

func (s *Server) refuse(w http.ResponseWriter, status int, kind Kind, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(s.protocol.refusal(status, kind, text))
}

// sse writes a frame as a server-sent event.
func sse(f frame) []byte {
	data, ok := f.data.(string)
	if !ok {
		encoded, err := json.Marshal(f.data)
		if err != nil {
			panic(err) // frames are made here
		}
		data = string(encoded)
	}
	head := ""
	if f.event != "" {
		head = "event: " + f.event + "\n"
	}
	return []byte(head + "data: " + data + "\n\n")
}

// bearer is the token of the Authorization header.
func bearer(header http.Header) string {
	return strings.TrimPrefix(header.Get("Authorization"), "Bearer ")
}

// at is a model function of protocols with one path.
func at(path string) func(string) string {
	return func(asked string) string {
		if asked == path {
			return path
		}
		return ""
	}
}
