// Package plinth is what every plugin in Go shares: its settings and its errors.
// What a plugin offers is registered with one of the packages beside it (tool,
// source, provider, transform), what it asks of the host is in host.
//
// Each of those packages carries the WebAssembly exports of its kind, so a module
// exports just the kinds it imports, and a module that does not import host has
// no host operation among its imports. Register in an init function of package
// main: a module built with -buildmode=c-shared runs those, and never main.
package plinth

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

// Errorf makes the error a plugin answers with. Its text is read by a person and,
// from a tool, by the model. Any other error a plugin returns is answered as
// abi.KindFailed.
func Errorf(kind abi.Kind, format string, args ...any) error {
	return &abi.Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// KindOf is the kind with which the host would be told of err; "" for nil.
func KindOf(err error) abi.Kind {
	if err == nil {
		return ""
	}
	return guest.AsError(err).Kind
}

// Prepare has run called once before any call, in the order of Configure and Prepare:
// for work whose result every call can use. The host takes the snapshot that calls
// start from afterwards. An error keeps the plugin from being used.
func Prepare(run func() error) {
	guest.OnInit(func([]byte) error { return run() })
}

// Configure has the operator's settings decoded into a C and handed to set, once,
// before any other call. A setting that C has no field for is an error, and what
// set returns keeps the plugin from being used. Without settings set is called
// with the zero C.
func Configure[C any](set func(settings C) error) {
	guest.OnInit(func(config []byte) error {
		var settings C
		if len(config) > 0 {
			decoder := json.NewDecoder(bytes.NewReader(config))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&settings); err != nil {
				return Errorf(abi.KindInvalidInput, "the plugin's configuration: %v", err)
			}
		}
		return set(settings)
	})
}
