package server

import (
	"context"

	"github.com/plinthhost/plinth/client/protocol"
)

// clientKey is a client that named itself. The actor is part of it, so that nobody
// ends the connections of others.
type clientKey struct{ actor, id string }

// supersede makes end the connection of the client of that id and ends the one that
// was. A client without an id has as many connections as it likes. The function it
// answers is called when the connection is over.
func (s *Server) supersede(p Principal, id string, end context.CancelCauseFunc) (over func()) {
	if id == "" {
		return func() {}
	}
	key := clientKey{p.Actor, id}
	s.mu.Lock()
	defer s.mu.Unlock()
	if earlier := s.clients[key]; earlier != nil {
		(*earlier)(&closing{protocol.CloseSuperseded, "the same client id connected again"})
	}
	s.clients[key] = &end
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.clients[key] == &end {
			delete(s.clients, key)
		}
	}
}
