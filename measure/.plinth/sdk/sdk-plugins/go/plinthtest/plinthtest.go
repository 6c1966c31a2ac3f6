// Package plinthtest tests a plugin natively, without WebAssembly: it calls the
// plugin's exports as the host does, answers its operations from memory, and
// checks the goldens its manifest names. Calls share the plugin's memory, so tests
// that use it do not run in parallel.
package plinthtest

import (
	"encoding/json"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

// Call calls an export with a body and decodes its ok. The error is the answer's.
func Call[OK any](t testing.TB, export string, body any) (ok OK, err error) {
	t.Helper()
	answer := Invoke(t, export, body)
	var decoded abi.Answer[OK]
	if err := json.Unmarshal(answer, &decoded); err != nil {
		t.Fatalf("the answer of %s: %v in %s", export, err, answer)
	}
	switch {
	case decoded.Error != nil:
		return ok, decoded.Error
	case decoded.OK == nil:
		t.Fatalf("the answer of %s has neither ok nor error: %s", export, answer)
	}
	return *decoded.OK, nil
}

// Invoke calls an export with a body and gives its answer as it is.
func Invoke(t testing.TB, export string, body any) json.RawMessage {
	t.Helper()
	call, err := json.Marshal(abi.Call[any]{DeadlineMS: 10_000, Meta: abi.Meta{Plugin: "test/native"}, Body: body})
	if err != nil {
		t.Fatalf("encode the call of %s: %v", export, err)
	}
	answer, _, err := abi.DecodeMessage(guest.Serve(export, abi.EncodeMessage(call, nil)))
	if err != nil {
		t.Fatalf("the answer of %s: %v", export, err)
	}
	return answer
}

// Configure gives the plugin its settings, as plinth_init does.
func Configure(t testing.TB, settings any) error {
	t.Helper()
	encoded, err := json.Marshal(settings)
	if err != nil {
		t.Fatalf("encode the settings: %v", err)
	}
	_, err = Call[abi.None](t, abi.ExportInit, abi.Init{Config: encoded, Minor: abi.Minor})
	return err
}
