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
		data, err := json.Marshal(payload)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", payload.EventType(), err)
		}
		if events[i], err = e.event(origin, now, payload.EventType(), data); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// event makes one event of data that is encoded already, in the newest version.
func (e Encoder) event(origin Origin, at time.Time, eventType string, data []byte) (store.Event, error) {
	k, known := kindOf(eventType)
	if !known {
		return store.Event{}, fmt.Errorf("encode %s: the event type is not in the inventory", eventType)
	}
	return store.Event{ID: e.IDs.New(PrefixEvent), Type: eventType, Version: k.version(), Time: at,
		Actor: origin.Actor, Cause: origin.Cause, Trace: origin.Trace, Data: data}, nil
}
