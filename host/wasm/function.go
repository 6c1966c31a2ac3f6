package wasm

import (
	"reflect"

	"github.com/tetratelabs/wazero/api"
)

// function is an exported function of an instance. It can be called by one call at
// a time and keeps the stack it grew.
type function struct {
	api.Function
	stack reflect.Value // wazero's slice of bytes; invalid when it has none by that name
}

// resolve answers the function of that name, nil when the module has none.
func resolve(module api.Module, name string) *function {
	exported := module.ExportedFunction(name)
	if exported == nil {
		return nil
	}
	return &function{Function: exported, stack: stackField(exported)}
}

// stackField finds the stack that wazero grows up to 50 MB and offers no limit for.
// The length of an unexported slice may be read. Without it only wazero's own limit
// is left, which a test notices.
func stackField(exported api.Function) reflect.Value {
	value := reflect.ValueOf(exported)
	if value.Kind() != reflect.Pointer || value.Elem().Kind() != reflect.Struct {
		return reflect.Value{}
	}
	field := value.Elem().FieldByName("stack")
	if field.Kind() != reflect.Slice || field.Type().Elem().Kind() != reflect.Uint8 {
		return reflect.Value{}
	}
	return field
}

// stackBytes is how large the function's stack is by now.
func (f *function) stackBytes() int64 {
	if !f.stack.IsValid() {
		return 0
	}
	return int64(f.stack.Len())
}
