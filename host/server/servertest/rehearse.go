package servertest

import (
	"context"

	"github.com/plinthhost/plinth/client/protocol"
)

// Rehearsed is what a rehearsal was asked for.
type Rehearsed struct {
	Session string
	Turns   int
	Bytes   int
}

// Rehearsed answers the rehearsals, in their order.
func (m *Memory) Rehearsed() []Rehearsed {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rehearsed
}

// rehearsals is server.Rehearsals; all come out the same.
type rehearsals struct{ *Memory }

func (m rehearsals) Rehearse(_ context.Context, session string, turns int, packed []byte) (protocol.Rehearsal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rehearsed = append(m.rehearsed, Rehearsed{session, turns, len(packed)})
	return protocol.Rehearsal{SessionID: session, Turns: turns, Same: true}, m.failure
}
