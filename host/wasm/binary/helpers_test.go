package binary_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/plinthhost/plinth/host/wasm/binary"
	"github.com/plinthhost/plinth/host/wasm/wasmtest"
)

const header = "\x00asm\x01\x00\x00\x00"

// section is a section of one of the ids of the format.
func section(id byte, content ...string) string {
	return string(wasmtest.Section(id, []byte(strings.Join(content, ""))))
}

// sized is bytes behind their number.
func sized(content ...string) string {
	whole := strings.Join(content, "")
	return string(binary.AppendUnsigned(nil, uint32(len(whole)))) + whole
}

// vector is items behind their number.
func vector(items ...string) string {
	return string(binary.AppendUnsigned(nil, uint32(len(items)))) + strings.Join(items, "")
}

// around is a module with one function of type ()->() whose body this is, and
// with one of everything that instructions name: function 0 by an export, a
// memory, two tables, a mutable global, an element and a data segment that are
// passive.
func around(body string) string {
	return header +
		section(1, vector("\x60\x00\x00", "\x60\x01\x7f\x01\x7f")) +
		section(3, vector("\x00")) +
		section(4, vector("\x70\x01\x01\x05", "\x6f\x01\x01\x05")) +
		section(5, vector("\x00\x01")) +
		section(6, vector("\x7f\x01\x41\x00\x0b")) +
		section(7, vector("\x01f\x00\x00")) +
		section(9, vector("\x01\x00\x01\x00")) +
		section(12, "\x01") +
		section(10, vector(sized("\x01\x02\x7f", body))) +
		section(11, vector("\x01\x03abc"))
}

func decode(t testing.TB, wasm string) *binary.Module {
	t.Helper()
	m, err := binary.Decode([]byte(wasm), binary.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// refusal demands that the module is refused and answers why.
func refusal(t testing.TB, wasm string, limits binary.Limits) *binary.Error {
	t.Helper()
	m, err := binary.Decode([]byte(wasm), limits)
	var refused *binary.Error
	if !errors.As(err, &refused) || m != nil {
		t.Fatalf("got %v", err)
	}
	if refused.Offset < 0 || refused.Offset > len(wasm) || refused.Section == "" || refused.Reason == "" {
		t.Fatalf("got %+v", refused)
	}
	return refused
}

// diff compares modules in everything that they say.
func diff(a, b *binary.Module) string {
	if reflect.DeepEqual(a, b) { // much faster
		return ""
	}
	return cmp.Diff(a, b, cmpopts.IgnoreFields(binary.Import{}, "Offset"),
		cmpopts.IgnoreUnexported(binary.Module{}), cmpopts.EquateEmpty())
}

// compiles says whether wazero takes the module.
func compiles(t testing.TB, wasm []byte) bool {
	t.Helper()
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().
		WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false))
	defer runtime.Close(ctx)
	_, err := runtime.CompileModule(ctx, wasm)
	return err == nil
}
