package session

import (
	"bytes"
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
		events[i] = store.Event{
			ID: e.IDs.New(PrefixEvent), Type: payload.EventType(), Version: 1, Time: now,
			Actor: origin.Actor, Cause: origin.Cause, Trace: origin.Trace, Data: data,
		}
	}
	return events, nil
}

// Decode answers the payload of a stored event, of any version that was ever
// written. Unknown types and versions are errors: a session is not read in part.
func Decode(event store.Event) (Payload, error) {
	if event.Version != 1 {
		return nil, fmt.Errorf("decode %s at sequence %d of %s: version %d is not known to this program",
			event.Type, event.Seq, event.Aggregate, event.Version)
	}
	switch event.Type {
	case Created{}.EventType():
		return decode[Created](event)
	case PromptAdmitted{}.EventType():
		return decode[PromptAdmitted](event)
	case PromptWoken{}.EventType():
		return decode[PromptWoken](event)
	case PromptPromoted{}.EventType():
		return decode[PromptPromoted](event)
	case InterruptRequested{}.EventType():
		return decode[InterruptRequested](event)
	case ActivityStarted{}.EventType():
		return decode[ActivityStarted](event)
	case ActivityEnded{}.EventType():
		return decode[ActivityEnded](event)
	case ContextInitialized{}.EventType():
		return decode[ContextInitialized](event)
	case ContextReplaced{}.EventType():
		return decode[ContextReplaced](event)
	case ContextUpdated{}.EventType():
		return decode[ContextUpdated](event)
	case TurnStarted{}.EventType():
		return decode[TurnStarted](event)
	case StepStarted{}.EventType():
		return decode[StepStarted](event)
	case TextEnded{}.EventType():
		return decode[TextEnded](event)
	case ReasoningEnded{}.EventType():
		return decode[ReasoningEnded](event)
	case ToolCalled{}.EventType():
		return decode[ToolCalled](event)
	case ToolSucceeded{}.EventType():
		return decode[ToolSucceeded](event)
	case ToolFailed{}.EventType():
		return decode[ToolFailed](event)
	case StepEnded{}.EventType():
		return decode[StepEnded](event)
	case StepFailed{}.EventType():
		return decode[StepFailed](event)
	case PermissionAsked{}.EventType():
		return decode[PermissionAsked](event)
	case PermissionReplied{}.EventType():
		return decode[PermissionReplied](event)
	}
	return nil, fmt.Errorf("decode sequence %d of %s: the event type %q is not known to this program", event.Seq, event.Aggregate, event.Type)
}

func decode[T Payload](event store.Event) (Payload, error) {
	var payload T
	decoder := json.NewDecoder(bytes.NewReader(event.Data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&payload); err != nil {
		return nil, fmt.Errorf("decode %s at sequence %d of %s: %w", event.Type, event.Seq, event.Aggregate, err)
	}
	return payload, nil
}
