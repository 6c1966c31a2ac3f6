package session

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/plinthhost/plinth/store"
)

// Origin is who makes an event and what it follows.
type Origin struct {
	Actor string // "system", "token:ID", "local:UID", "plugin:ID@REVISION"
	Cause string
	Trace string
}

// System is the origin of what the kernel does by itself.
func System() Origin { return Origin{Actor: "system"} }

// Encoder makes events of payloads.
type Encoder struct {
	IDs   *IDs
	Clock Clock
}

// Encode makes one event per payload, all of the same time.
func (e Encoder) Encode(origin Origin, payloads ...Payload) ([]store.Event, error) {
	now := e.Clock.Now().UTC().Truncate(time.Millisecond)
	events := make([]store.Event, len(payloads))
	for i, payload := range payloads {
		k, known := kindOf(payload.EventType())
		if !known {
			return nil, fmt.Errorf("encode %s: the event type is not in the inventory", payload.EventType())
		}
		data, err := json.Marshal(payload)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", payload.EventType(), err)
		}
		events[i] = store.Event{
			ID: e.IDs.New(PrefixEvent), Type: payload.EventType(), Version: k.version(), Time: now,
			Actor: origin.Actor, Cause: origin.Cause, Trace: origin.Trace, Data: data,
		}
	}
	return events, nil
}
