// Package host is what a plugin may ask of the program that runs it. Every
// operation needs a grant and obeys the call's deadline. Failures are *abi.Error
// and keep the host's kind: plinth.KindOf tells a missing file from a refusal.
package host

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

// Log writes a line to the plugin's log. Level is debug, info, warn or error. A
// line the host refuses is lost: a plugin has nowhere else to say so.
func Log(level, message string) {
	_, _, _ = Call[abi.Log, abi.None](abi.OpLog, abi.Log{Level: level, Message: message})
}

// Progress shows a line to who watches the tool call that is under way.
func Progress(text string) {
	_, _, _ = Call[abi.Progress, abi.None](abi.OpProgress, abi.Progress{Text: text})
}

// Call asks for an operation by name: one that this package has no function for,
// because it is newer. Raw is laid behind the request, one after the other, where its
// $bytes find it. It answers the ok and the raw bytes that came with that.
func Call[Request, OK any](operation string, request Request, raw ...[]byte) (ok OK, answered []byte, err error) {
	encoded, answered, err := rawAsk(operation, request, raw...)
	if err != nil {
		return ok, nil, err
	}
	if err := json.Unmarshal(encoded, &ok); err != nil {
		return ok, nil, unreadable(operation, err)
	}
	return ok, answered, nil
}

// rawAsk is Call with the ok as the JSON that it is.
func rawAsk(operation string, request any, raw ...[]byte) (ok, answered []byte, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the request of %s: %w", operation, err)
	}
	return exchange(operation, abi.EncodeMessage(body, bytes.Join(raw, nil)))
}

// exchange sends a request, a whole message, and answers the JSON of the ok and the raw
// bytes that came with it.
func exchange(operation string, request []byte) (ok, raw []byte, err error) {
	body, raw, err := abi.DecodeMessage(guest.Operate(operation, request))
	if err != nil {
		return nil, nil, unreadable(operation, err)
	}
	ok, failure, err := readAnswer(body)
	switch {
	case err != nil:
		return nil, nil, unreadable(operation, err)
	case failure != nil:
		return nil, nil, failure
	case ok == nil:
		return nil, nil, fmt.Errorf("read the answer of %s: it has neither ok nor error", operation)
	}
	return ok, raw, nil
}

func unreadable(operation string, err error) error {
	return fmt.Errorf("read the answer of %s: %w", operation, err)
}

// ask is Call where no bytes come or go.
func ask[Request, OK any](operation string, request Request) (OK, error) {
	ok, _, err := Call[Request, OK](operation, request)
	return ok, err
}
