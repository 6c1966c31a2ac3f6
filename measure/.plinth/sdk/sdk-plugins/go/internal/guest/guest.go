// Package guest is the boundary seen from inside: the module's memory, its
// entries and the host behind them. Under WebAssembly the host is the program
// that runs the module, natively it is what a test has put there.
package guest

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// Handler answers one call: both are whole messages.
type Handler func(message []byte) []byte

var (
	entries = map[string]Handler{}
	onInit  = []func(config []byte) error{}
)

// Enter makes handle the entry of an export's name.
func Enter(export string, handle Handler) { entries[export] = handle }

// OnInit has set called with the operator's settings, empty for none.
func OnInit(set func(config []byte) error) { onInit = append(onInit, set) }

// Warm has encoding/json learn a type in plinth_init, by way of a sample. The host
// takes the snapshot that every call starts from afterwards, so no call pays for it
// again: the first use of a type costs more than many calls.
func Warm[T any](sample T) {
	OnInit(func([]byte) error {
		encoded, err := json.Marshal(sample)
		if err != nil {
			return err
		}
		return json.Unmarshal(encoded, new(T))
	})
}

// Serve answers a call of an export.
func Serve(export string, message []byte) []byte {
	if export == abi.ExportInit {
		return initialise(message)
	}
	handle, ok := entries[export]
	if !ok {
		return Fail(&abi.Error{Kind: abi.KindUnavailable, Message: "nothing is registered for " + export})
	}
	return handle(message)
}

func initialise(message []byte) []byte {
	body, _, err := abi.DecodeMessage(message)
	if err != nil {
		return Fail(Invalid(err))
	}
	config, err := initConfig(body)
	if err != nil {
		return Fail(Invalid(err))
	}
	for _, set := range onInit {
		if err := set(config); err != nil {
			return Fail(err)
		}
	}
	return OK([]byte("{}"), nil)
}

// initConfig answers body.config of a call of plinth_init.
func initConfig(call []byte) (config []byte, err error) {
	r := jsonscan.NewReader(call)
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		if key != "body" {
			r.Skip()
			continue
		}
		for r.Object(); ; {
			key, ok := r.Next()
			if !ok {
				break
			}
			if raw := r.Raw(); key == "config" && string(raw) != "null" {
				config = raw
			}
		}
	}
	r.End()
	return config, r.Err()
}

// Decode reads the body of a call.
func Decode[T any](message []byte) (call abi.Call[T], raw []byte, err error) {
	body, raw, err := abi.DecodeMessage(message)
	if err != nil {
		return call, nil, Invalid(err)
	}
	if err := json.Unmarshal(body, &call); err != nil {
		return call, nil, Invalid(err)
	}
	return call, raw, nil
}

// Answer is the answer of a handler that made ok or err.
func Answer(ok any, raw []byte, err error) []byte {
	if err != nil {
		return Fail(err)
	}
	body, err := json.Marshal(ok)
	if err != nil {
		return Fail(err)
	}
	return OK(body, raw)
}

// OK is the answer {"ok": body}.
func OK(body, raw []byte) []byte {
	message := make([]byte, 4, len(body)+len(raw)+16)
	message = append(message, `{"ok":`...)
	message = append(message, body...)
	message = append(message, '}')
	binary.LittleEndian.PutUint32(message, uint32(len(message)-4))
	return append(message, raw...)
}

// Fail is the answer {"error": …}.
func Fail(err error) []byte {
	failure := AsError(err)
	message := append(make([]byte, 4, 128), `{"error":{"kind":`...)
	message = jsonscan.AppendString(message, string(failure.Kind))
	message = append(message, `,"message":`...)
	message = jsonscan.AppendString(message, failure.Message)
	message = append(message, '}', '}')
	binary.LittleEndian.PutUint32(message, uint32(len(message)-4))
	return message
}

// AsError is err in the boundary's words. The whole text is kept where an
// abi.Error was wrapped.
func AsError(err error) *abi.Error {
	var known *abi.Error
	switch {
	case !errors.As(err, &known):
		return &abi.Error{Kind: abi.KindFailed, Message: err.Error()}
	case err == error(known):
		return known
	}
	return &abi.Error{Kind: known.Kind, Message: err.Error()}
}

// Invalid says that the host's message cannot be read.
func Invalid(err error) error {
	return &abi.Error{Kind: abi.KindInvalidInput, Message: "the host's message: " + err.Error()}
}
