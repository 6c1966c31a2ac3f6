package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Framings that a response can be cut by.
const (
	FramingSSE    = "sse"    // server-sent events
	FramingNDJSON = "ndjson" // one JSON text per line
	// FramingEventStream is messages of an AWS event stream, checksums checked. One
	// in which the scrubber replaced a secret no longer passes.
	FramingEventStream = "aws-eventstream"
	FramingRaw         = "raw" // bytes as they come, cut between characters
)

const (
	// maxFrame bounds one frame and one line, in bytes.
	maxFrame = 1 << 20
	// readSize is how much is taken from a connection at once.
	readSize = 32 << 10
	// maxEmptyReads bounds a reader that answers nothing and no error.
	maxEmptyReads = 100
)

// Frame is one server-sent event, line, message or piece. Its texts are valid UTF-8;
// what is none in the answer becomes U+FFFD.
type Frame struct {
	// Event is the SSE event's name, or an AWS message's :event-type, :exception-type
	// or :error-code; else "".
	Event string
	// Data is never empty, but for AWS messages: there it is the payload, or the
	// :error-message.
	Data string
}

// parser cuts bytes into frames, alike for every way they arrive in.
type parser interface {
	// feed answers the frames that chunk completed, also beside an error.
	feed(chunk []byte) ([]Frame, error)
	// end answers what the end of the bytes completed.
	end() ([]Frame, error)
}

// FrameReader cuts a body into frames. It is for one goroutine.
type FrameReader struct {
	body   io.ReadCloser
	parser parser
	buffer []byte
	err    error // sticky
}

// NewFrameReader reads frames from body, which stays the caller's to close.
func NewFrameReader(body io.ReadCloser, framing string) (*FrameReader, error) {
	made, err := newParser(framing)
	if err != nil {
		return nil, err
	}
	return &FrameReader{body: body, parser: made, buffer: make([]byte, readSize)}, nil
}

// CheckFraming refuses what NewFrameReader does not know.
func CheckFraming(framing string) error {
	_, err := newParser(framing)
	return err
}

func newParser(framing string) (parser, error) {
	switch framing {
	case FramingSSE:
		return newSSE(), nil
	case FramingNDJSON:
		return newNDJSON(), nil
	case FramingEventStream:
		return newEventStream(), nil
	case FramingRaw:
		return newRaw(), nil
	}
	return nil, policyError("there is no framing %q; use %s, %s, %s or %s", shown(framing), FramingSSE, FramingNDJSON, FramingEventStream, FramingRaw)
}

// Next waits for a frame and answers it with all others that have been received
// whole. After the last it answers io.EOF. A frame or line over 1 MiB is an
// *Error of KindTooLarge, a damaged message one of KindFailed, one that the end of
// the body cuts off one of KindReset, each after the frames before it. When ctx
// ends, Next closes the body and answers ctx's cause.
func (r *FrameReader) Next(ctx context.Context) ([]Frame, error) {
	stop := context.AfterFunc(ctx, func() { r.body.Close() })
	defer stop()
	for empty := 0; r.err == nil; {
		if ctx.Err() != nil {
			r.err = cancelled(ctx)
			break
		}
		n, err := r.body.Read(r.buffer)
		frames := r.take(ctx, n, err)
		if len(frames) > 0 {
			return frames, nil
		}
		if empty++; n > 0 {
			empty = 0
		}
		if empty == maxEmptyReads && r.err == nil {
			r.err = io.ErrNoProgress
		}
	}
	return nil, r.err
}

// take parses what one read brought and keeps its error for after the frames.
func (r *FrameReader) take(ctx context.Context, n int, err error) []Frame {
	frames, broken := r.parser.feed(r.buffer[:n])
	switch {
	case broken != nil:
		r.err = broken
	case errors.Is(err, io.EOF):
		last, broken := r.parser.end()
		frames = append(frames, last...)
		if r.err = io.EOF; broken != nil {
			r.err = broken
		}
	case err != nil && ctx.Err() != nil:
		r.err = cancelled(ctx)
	case err != nil:
		r.err = err
	}
	return frames
}

func cancelled(ctx context.Context) error {
	return fmt.Errorf("read frames: %w", context.Cause(ctx))
}

// Frames yields the frames of body one by one; an error other than the end is
// yielded once, last.
func Frames(ctx context.Context, body io.ReadCloser, framing string) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		reader, err := NewFrameReader(body, framing)
		for err == nil {
			var frames []Frame
			frames, err = reader.Next(ctx)
			for _, frame := range frames {
				if !yield(frame, nil) {
					return
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(Frame{}, err)
		}
	}
}
