package bridge

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
)

// operations carries out what one call asks of the host. Its operations may run
// side by side.
type operations struct {
	plugin   *Plugin
	reach    *Reach
	session  abi.Session
	location session.Location
	asked    authority
	progress func(text string) // nil for a context source
	host     session.ToolHost  // nil for a context source
	blobs    blobSet
	made     atomic.Int64 // operations so far
	logged   atomic.Int64 // bytes, by the operation
}

// Call answers one operation. It never fails but in its answer.
func (o *operations) Call(ctx context.Context, operation string, request []byte) []byte {
	asked, raw, err := abi.DecodeMessage(request)
	if err != nil {
		return errorAnswer(refuse(abi.KindInvalidInput, "%v", err))
	}
	body, raw, err := o.perform(ctx, operation, asked, raw)
	if err != nil {
		return errorAnswer(err)
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return errorAnswer(fmt.Errorf("encode the answer of %s: %w", operation, err))
	}
	return okAnswer(encoded, raw)
}

// okAnswer frames an encoded ok and raw bytes.
func okAnswer(encoded, raw []byte) []byte {
	const before, after = `{"ok":`, `}`
	length := len(before) + len(encoded) + len(after)
	message := make([]byte, 0, 4+length+len(raw))
	message = binary.LittleEndian.AppendUint32(message, uint32(length))
	message = append(append(append(message, before...), encoded...), after...)
	return append(message, raw...)
}

// perform carries out an operation that this version has and the call may use. Raw are
// the bytes that the request may refer to; it does not change them.
func (o *operations) perform(ctx context.Context, name string, request, raw []byte) (body any, answered []byte, err error) {
	operation, ok := o.reach.operation(name)
	switch {
	case !ok:
		return nil, nil, refuse(abi.KindUnavailable, "this host has no operation %q", clip(name))
	case operation.Tools && o.host == nil:
		return nil, nil, refuse(abi.KindUnavailable, "%s is for tools", name)
	case operation.Effect && rehearsing(ctx):
		return nil, nil, refuse(abi.KindDenied, "this is a rehearsal, which changes and sends nothing: %s is refused", name)
	}
	if most := o.plugin.operations(); o.made.Add(1) > most {
		return nil, nil, refuse(abi.KindLimit, "the call has made %d operations, which is the limit; raise limits.operations", most)
	}
	body, answered, err = operation.run(ctx, o, request, raw)
	if operation.Effect {
		o.touch()
	}
	o.plugin.Counts.add(name, err)
	return body, answered, err
}

// decodeRequest decodes a request strictly.
func decodeRequest[R any](services *Services, encoded []byte) (request R, err error) {
	d := services.decoder()
	d.Reset(encoded)
	if err := d.json.Decode(&request); err != nil {
		return request, refuse(abi.KindInvalidInput, "the request cannot be read: %v", err)
	}
	if !d.through() {
		return request, refuse(abi.KindInvalidInput, "the request has something behind its end")
	}
	services.decoders.Put(d)
	return request, nil
}

// requestDecoder is a strict decoder that goes from one request to the next. One
// that has failed is not used again.
type requestDecoder struct {
	bytes.Reader
	json *json.Decoder
}

// decoder answers one that the pool has, or a new one.
func (s *Services) decoder() *requestDecoder {
	if d, ok := s.decoders.Get().(*requestDecoder); ok {
		return d
	}
	d := &requestDecoder{}
	d.json = json.NewDecoder(d)
	d.json.DisallowUnknownFields()
	return d
}

// through reports whether nothing but white space is left.
func (d *requestDecoder) through() bool {
	if d.Len() > 0 {
		return false
	}
	left := d.json.Buffered()
	if read, ok := left.(*bytes.Reader); ok && read.Len() == 0 {
		return true
	}
	rest, err := io.ReadAll(left)
	return err == nil && len(bytes.TrimLeft(rest, " \t\r\n")) == 0
}

// content answers the bytes that a request refers to, or its text.
func content(data *abi.Bytes, text string, raw []byte) ([]byte, error) {
	if data == nil {
		return []byte(text), nil
	}
	if text != "" {
		return nil, refuse(abi.KindInvalidInput, "give either bytes or text")
	}
	found, err := data.Of(raw)
	if err != nil {
		return nil, refuse(abi.KindInvalidInput, "%v", err)
	}
	return found, nil
}

func (o *operations) logLine(_ context.Context, request abi.Log, _ []byte) (any, []byte, error) {
	switch request.Level {
	case "debug", "info", "warn", "error":
	default:
		return nil, nil, refuse(abi.KindInvalidInput, "level is %q; it must be debug, info, warn or error", clip(request.Level))
	}
	line := clean(request.Message)
	if most := o.plugin.logBytes(); o.logged.Add(int64(len(line))) > most {
		return nil, nil, refuse(abi.KindLimit, "the call has logged more than %d bytes; raise limits.log_kib", most)
	}
	o.plugin.Log(request.Level, line)
	return abi.None{}, nil, nil
}

func (o *operations) showProgress(_ context.Context, request abi.Progress, _ []byte) (any, []byte, error) {
	o.progress(clean(request.Text))
	return abi.None{}, nil, nil
}

// maxLine bounds one line of log or progress.
const maxLine = 8 << 10

// clean keeps a guest's text on one line and free of terminal control.
func clean(text string) string {
	if len(text) > maxLine {
		text = text[:maxLine]
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return ' '
		case r < 0x20, r >= 0x7f && r < 0xa0:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// clip shortens a name that a guest chose.
func clip(text string) string { return clipTo(text, 64) }

// clipTo shortens text to at most limit bytes and an ellipsis, between characters.
func clipTo(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// errorAnswer encodes an error as an answer.
func errorAnswer(err error) []byte {
	encoded, err := json.Marshal(map[string]any{"error": wireError(err)})
	if err != nil {
		encoded = []byte(`{"error":{"kind":"failed","message":"the error cannot be encoded"}}`)
	}
	return abi.EncodeMessage(encoded, nil)
}

// wireError puts an error into the closed set of kinds.
func wireError(err error) *abi.Error {
	var told *abi.Error
	var denied *session.DeniedError
	switch {
	case errors.As(err, &told):
		return told
	case errors.As(err, &denied):
		return refuse(abi.KindDenied, "%v", denied)
	case errors.Is(err, context.DeadlineExceeded):
		return refuse(abi.KindTimeout, "the call's deadline passed")
	case errors.Is(err, context.Canceled), errors.Is(err, session.ErrInterrupted), errors.Is(err, session.ErrShutdown):
		return refuse(abi.KindCancelled, "the call was cancelled")
	}
	return refuse(abi.KindFailed, "%v", err)
}
