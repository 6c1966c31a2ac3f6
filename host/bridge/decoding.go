package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/session"
)

const (
	// maxFramesPerCall bounds what one decode call is given.
	maxFramesPerCall = 256
	// endGrace is how long a server may take to end its response after the finish. A
	// response read to its end leaves the connection to the next request.
	endGrace = 2 * time.Second
)

// Limits of what a codec tells for the provider to have back.
const (
	MaxResultBytes   = 4 << 20 // of a hosted tool's result, and as much of text
	MaxMetadataBytes = 1 << 20 // of one event
)

// decoding is one stream on its way from frames to model events. It ends with
// exactly one terminal event, whatever the codec says: the finish, which is held
// back until nothing can follow it, or an error.
type decoding struct {
	provider *Provider
	session  string
	yield    func(session.ModelEvent, error) bool
	state    json.RawMessage // the codec's
	finish   *session.ModelEvent
}

// run hands over the frames as they come, several at once when they are there.
func (d *decoding) run(ctx context.Context, reader *egress.FrameReader) error {
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	for end := false; !end; {
		frames, err := reader.Next(reading)
		end = errors.Is(err, io.EOF)
		if err != nil && !end {
			if d.finish != nil {
				break // the answer is whole, however its connection ended
			}
			return err
		}
		whole := d.finish != nil
		if err := d.frames(ctx, frames, end); err != nil {
			return err
		}
		if d.finish != nil && !whole {
			defer time.AfterFunc(endGrace, cancel).Stop()
		}
	}
	if d.finish == nil {
		return &session.ProviderError{Class: session.ProviderIncomplete, Retryable: true,
			Message: "The provider's answer ended without saying that it is complete"}
	}
	d.yield(*d.finish, nil)
	return nil
}

// frames decodes what came at once; end is told with the last of it.
func (d *decoding) frames(ctx context.Context, frames []egress.Frame, end bool) error {
	for first := true; first || len(frames) > 0; first = false {
		batch := frames[:min(len(frames), maxFramesPerCall)]
		frames = frames[len(batch):]
		decoded, err := d.batch(ctx, batch, end && len(frames) == 0)
		if err != nil {
			return err
		}
		d.state = decoded.State
		for _, event := range decoded.Events {
			if err := d.event(event); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *decoding) batch(ctx context.Context, frames []egress.Frame, end bool) (abi.ProviderDecoded, error) {
	body := abi.ProviderDecode{Provider: d.provider.id, State: d.state, Frames: make([]abi.Frame, len(frames)), End: end}
	for i, frame := range frames {
		body.Frames[i] = abi.Frame{Event: frame.Event, Data: frame.Data}
	}
	deadline := FrameDeadline * time.Duration(len(frames)+1)
	decoded, _, err := invoke[abi.ProviderDecode, abi.ProviderDecoded](ctx, d.provider.plugin, abi.ExportProviderDecode, body, Call{Deadline: deadline, Session: d.session})
	return decoded, err
}

// event passes one on. What follows a finish breaks the grammar, but for the usage,
// which some servers send last.
func (d *decoding) event(event abi.ModelEvent) error {
	if err := checkEvent(event); err != nil {
		return err
	}
	converted := modelEvent(event)
	switch {
	case event.Type == abi.EventError:
		return reported(event.Error)
	case d.finish != nil && event.Type != abi.EventUsage:
		return ungrammatical("%s after the finish", clip(event.Type))
	case event.Type == abi.EventFinish:
		d.finish = &converted
	case !d.yield(converted, nil):
		return errLeft
	}
	return nil
}

// checkEvent holds what the provider will want back to its bounds, and the fields of
// hosted tools to their events.
func checkEvent(event abi.ModelEvent) error {
	switch {
	case event.Hosted && event.Type != abi.EventToolStart:
		return ungrammatical("%s %q says hosted, which only %s does", clip(event.Type), clip(event.ID), abi.EventToolStart)
	case (event.Failed || given(event.Result) != nil) && event.Type != abi.EventToolResult:
		return ungrammatical("%s %q has a result or says failed, which only %s does", clip(event.Type), clip(event.ID), abi.EventToolResult)
	case len(event.Result) > MaxResultBytes:
		return ungrammatical("the result of the call %q has %d bytes; the most is %d", clip(event.ID), len(event.Result), MaxResultBytes)
	case event.Type == abi.EventToolResult && len(event.Text) > MaxResultBytes:
		return ungrammatical("the text of the result of the call %q has %d bytes; the most is %d", clip(event.ID), len(event.Text), MaxResultBytes)
	case len(event.Metadata) > MaxMetadataBytes:
		return ungrammatical("the metadata of %s %q has %d bytes; the most is %d", clip(event.Type), clip(event.ID), len(event.Metadata), MaxMetadataBytes)
	}
	return nil
}

func ungrammatical(format string, args ...any) error {
	return &session.ProviderError{Class: session.ProviderProtocol,
		Message: "The provider's plugin broke the event grammar: " + fmt.Sprintf(format, args...)}
}

// given is a value that a codec tells; null, which languages write for none, is none.
func given(value json.RawMessage) json.RawMessage {
	if string(value) == "null" {
		return nil
	}
	return value
}

func modelEvent(event abi.ModelEvent) session.ModelEvent {
	converted := session.ModelEvent{Type: session.ModelEventType(event.Type), ID: event.ID, Name: event.Name, Text: event.Text,
		Reason: session.FinishReason(event.Reason), Metadata: given(event.Metadata), Hosted: event.Hosted,
		Result: given(event.Result), Failed: event.Failed}
	if event.Usage != nil {
		converted.Usage = session.Usage(*event.Usage)
	}
	return converted
}
