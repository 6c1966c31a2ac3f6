package bridge

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
)

// Caller runs one entry of a guest. Errors are of type *CallError.
type Caller interface {
	Call(ctx context.Context, call Call) (answer []byte, err error)
}

// Call is one call of a guest's entry.
type Call struct {
	Entry    string
	Message  []byte
	Deadline time.Duration
	// Session is whose call it is; "" for none.
	Session string
	// Operations carries out what the guest asks for; nil offers nothing.
	Operations Operations
	// Log gets what the guest prints, line by line.
	Log func(line string)
	// LogAt gets what it logs at a level by Extism's functions; nil hands it to Log.
	LogAt func(level, line string)
}

// Operations carries out host operations during one call.
type Operations interface {
	Call(ctx context.Context, operation string, request []byte) (answer []byte)
}

// CallError is a call the engine could not bring to an answer.
type CallError struct {
	Kind abi.Kind
	Err  error
}

func (e *CallError) Error() string { return e.Err.Error() }
func (e *CallError) Unwrap() error { return e.Err }

// Plugin is the guest behind one or more ports.
type Plugin struct {
	ID       string
	Revision string
	Builtin  bool
	Caller   Caller
	// Operations is how many a call may make; 0 means 1,000.
	Operations int64
	// LogBytes is how much a call may log by the operation; 0 means 64 KiB.
	LogBytes int64
	Counts   Counts
	// Log gets a line the guest printed or logged, with its level.
	Log func(level, line string)
	// Called is told of every call of the guest that came to an answer or broke, on the
	// goroutine that made it, and must return soon: whose session it was for, "" for
	// none, and the fault it ended with, nil for none. Calls that were cancelled, that
	// found no free instance or that a limit of the host ended are not told. Nil for
	// nobody.
	Called func(session string, fault *Fault)
}

// defaultOperations is how many operations a call may make.
const defaultOperations = 1000

func (p *Plugin) operations() int64 {
	if p.Operations > 0 {
		return p.Operations
	}
	return defaultOperations
}

// MaxLogBytes is how much a call may log where the plugin's limits do not say.
const MaxLogBytes = 64 << 10

func (p *Plugin) logBytes() int64 {
	if p.LogBytes > 0 {
		return p.LogBytes
	}
	return MaxLogBytes
}

// asking names the plugin in permission requests; builtins speak for the host.
func (p *Plugin) asking() string {
	if p.Builtin {
		return ""
	}
	return p.ID
}

// invoke calls an entry with a body and decodes its ok. An answer that is an
// error comes as *abi.Error with a kind of the closed set; one that is neither, or
// no message at all, as a *CallError.
func invoke[In, Out any](ctx context.Context, p *Plugin, entry string, body In, options Call) (out Out, raw []byte, err error) {
	message, err := encodeCall(abi.Call[In]{
		DeadlineMS: options.Deadline.Milliseconds(),
		Meta:       abi.Meta{Plugin: p.ID, Revision: p.Revision},
		Body:       body,
	})
	if err != nil {
		return out, nil, fmt.Errorf("encode call of %s: %w", entry, err)
	}
	options.Entry = entry
	options.Message = message
	if options.Log == nil {
		options.Log = func(line string) { p.Log("info", line) }
		options.LogAt = p.Log
	}
	called := p.called
	if rehearsing(ctx) {
		called = func(string, error) {}
	}
	answer, err := p.Caller.Call(ctx, options)
	if err != nil {
		called(options.Session, err)
		return out, nil, err
	}
	ok, raw, err := decodeAnswer[Out](answer)
	if told, is := errors.AsType[*abi.Error](err); is {
		called(options.Session, nil)
		return out, nil, told
	}
	if err != nil {
		err = badAnswer(p, entry, err)
	}
	called(options.Session, err)
	if err != nil {
		return out, nil, err
	}
	return *ok, raw, nil
}

// encodeCall is a whole message without raw bytes. What a model reads is full of <, >
// and &, whose escapes for HTML nobody here wants: they make it longer and the guest
// slower.
func encodeCall(call any) ([]byte, error) {
	var message bytes.Buffer
	message.Write(abi.EncodeMessage(nil, nil))
	encoder := json.NewEncoder(&message)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(call); err != nil {
		return nil, err
	}
	whole := bytes.TrimSuffix(message.Bytes(), []byte("\n"))
	binary.LittleEndian.PutUint32(whole, uint32(len(whole)-4))
	return whole, nil
}

// decodeAnswer reads a whole answer: exactly one of ok and error. An error of the
// guest comes as *abi.Error with a kind of the closed set. What is not UTF-8 must
// not get into the log, so it is replaced here, once.
func decodeAnswer[Out any](message []byte) (ok *Out, raw []byte, err error) {
	encoded, raw, err := abi.DecodeMessage(message)
	if err != nil {
		return nil, nil, err
	}
	if !utf8.Valid(encoded) {
		encoded = bytes.ToValidUTF8(encoded, []byte("\uFFFD"))
	}
	var answer abi.Answer[Out]
	if err := json.Unmarshal(encoded, &answer); err != nil {
		return nil, nil, err
	}
	switch {
	case answer.OK == nil && answer.Error == nil:
		return nil, nil, errors.New("it has neither ok nor error")
	case answer.OK != nil && answer.Error != nil:
		return nil, nil, errors.New("it has both ok and error")
	case answer.Error != nil:
		if !answer.Error.Kind.Valid() {
			answer.Error.Kind = abi.KindFailed
		}
		return nil, nil, answer.Error
	}
	return answer.OK, raw, nil
}

func badAnswer(p *Plugin, entry string, err error) error {
	return &CallError{Kind: abi.KindFailed, Err: &answerError{p.ID, entry, err}}
}

func wireLocation(location session.Location, at time.Time) abi.Location {
	_, offset := at.Zone()
	return abi.Location{Directory: location.Directory, Root: location.Root, Git: location.Git, Platform: platform, UTCOffset: offset / 60}
}
