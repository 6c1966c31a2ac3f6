package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
)

// Offered lists the operations of this version, ascending.
func Offered() []string {
	return []string{abi.OpFSList, abi.OpFSRead, abi.OpFSStat, abi.OpLog, abi.OpProgress}
}

// authority decides on an action of one call.
type authority interface {
	authorise(ctx context.Context, action, resource string) error
	effects(ctx context.Context, action string, resources []string) ([]session.Effect, error)
}

// operations carries out what one call asks of the host.
type operations struct {
	files    *Files
	location session.Location
	asked    authority
	log      func(level, line string)
	progress func(text string) // nil where there is nobody to show it to
}

// Call answers one operation. It never fails but in its answer.
func (o *operations) Call(ctx context.Context, operation string, request []byte) []byte {
	body, raw, err := o.dispatch(ctx, operation, request)
	if err != nil {
		return errorAnswer(err)
	}
	encoded, err := json.Marshal(map[string]any{"ok": body})
	if err != nil {
		return errorAnswer(fmt.Errorf("encode the answer of %s: %w", operation, err))
	}
	return abi.EncodeMessage(encoded, raw)
}

func (o *operations) dispatch(ctx context.Context, operation string, request []byte) (body any, raw []byte, err error) {
	switch operation {
	case abi.OpLog:
		return perform(request, o.logLine)
	case abi.OpProgress:
		return perform(request, o.showProgress)
	case abi.OpFSStat:
		return perform(request, func(r abi.FSStat) (any, []byte, error) { return o.stat(ctx, r) })
	case abi.OpFSList:
		return perform(request, func(r abi.FSList) (any, []byte, error) { return o.list(ctx, r) })
	case abi.OpFSRead:
		return perform(request, func(r abi.FSRead) (any, []byte, error) { return o.read(ctx, r) })
	}
	return nil, nil, &abi.Error{Kind: abi.KindUnavailable, Message: fmt.Sprintf("this host has no operation %q", clip(operation))}
}

// perform decodes a request strictly and carries it out.
func perform[R any](message []byte, run func(R) (any, []byte, error)) (any, []byte, error) {
	encoded, _, err := abi.DecodeMessage(message)
	if err != nil {
		return nil, nil, &abi.Error{Kind: abi.KindInvalidInput, Message: err.Error()}
	}
	var request R
	decoder := json.NewDecoder(strings.NewReader(string(encoded)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return nil, nil, &abi.Error{Kind: abi.KindInvalidInput, Message: "the request cannot be read: " + err.Error()}
	}
	return run(request)
}

func (o *operations) logLine(request abi.Log) (any, []byte, error) {
	switch request.Level {
	case "debug", "info", "warn", "error":
	default:
		return nil, nil, &abi.Error{Kind: abi.KindInvalidInput, Message: fmt.Sprintf("level is %q; it must be debug, info, warn or error", clip(request.Level))}
	}
	o.log(request.Level, clean(request.Message))
	return abi.None{}, nil, nil
}

func (o *operations) showProgress(request abi.Progress) (any, []byte, error) {
	if o.progress == nil {
		return nil, nil, &abi.Error{Kind: abi.KindUnavailable, Message: "progress is for tools"}
	}
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
	}, strings.ToValidUTF8(text, "�"))
}

// clip shortens a name that a guest chose.
func clip(text string) string { return clipTo(text, 64) }

// errorAnswer puts an error into the closed set of kinds.
func errorAnswer(err error) []byte {
	var told *abi.Error
	var denied *session.DeniedError
	switch {
	case errors.As(err, &told):
	case errors.As(err, &denied):
		told = &abi.Error{Kind: abi.KindDenied, Message: denied.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		told = &abi.Error{Kind: abi.KindTimeout, Message: "the call's deadline passed"}
	case errors.Is(err, context.Canceled), errors.Is(err, session.ErrInterrupted), errors.Is(err, session.ErrShutdown):
		told = &abi.Error{Kind: abi.KindCancelled, Message: "the call was cancelled"}
	default:
		told = &abi.Error{Kind: abi.KindFailed, Message: err.Error()}
	}
	encoded, err := json.Marshal(map[string]any{"error": told})
	if err != nil {
		encoded = []byte(`{"error":{"kind":"failed","message":"the error cannot be encoded"}}`)
	}
	return abi.EncodeMessage(encoded, nil)
}
