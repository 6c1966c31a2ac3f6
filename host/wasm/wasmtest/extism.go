package wasmtest

import (
	"fmt"
	"slices"
)

// Import modules of Extism.
const (
	ExtismEnv  = "extism:host/env"
	ExtismUser = "extism:host/user"
)

// Add64 is i64.add.
const Add64 = "\x7c"

// Locals of an entry of Extism, each an i64. Emit writes Third.
const (
	First = iota
	Second
	Third
)

// Extism writes a module as an Extism PDK builds it.
type Extism struct {
	Module
	index map[string]uint32 // of imported functions
}

// NewExtism begins a module that imports the named functions of extism:host/env,
// all when none are named, host_call of extism:host/user, and WASI's proc_exit.
func NewExtism(marker string, functions ...string) *Extism {
	m := &Extism{index: make(map[string]uint32)}
	if len(functions) == 0 {
		functions = extismFunctions()
		m.index[Ask] = m.Import(ExtismUser, Ask, Types(I64, I64), Types(I64))
		m.index["proc_exit"] = m.Import("wasi_snapshot_preview1", "proc_exit", Types(I32), nil)
	}
	for _, name := range functions {
		params, results := extismType(name)
		m.index[name] = m.Import(ExtismEnv, name, params, results)
	}
	m.Memory(1, 0)
	m.Func(marker, nil, nil, nil)
	return m
}

func extismFunctions() []string {
	return []string{
		"alloc", "free", "length", "length_unsafe", "load_u8", "load_u64", "store_u8", "store_u64", "memory_bytes", "reset",
		"input_length", "input_offset", "input_load_u8", "input_load_u64", "input_set",
		"output_set", "output_length", "output_offset", "error_set", "error_get",
		"config_get", "var_get", "var_set", "http_request", "http_status_code", "http_headers",
		"log_trace", "log_debug", "log_info", "log_warn", "log_error", "get_log_level",
	}
}

func extismType(name string) (params, results []byte) {
	switch name {
	case "alloc", "length", "length_unsafe", "load_u64", "input_load_u64", "config_get", "var_get":
		return Types(I64), Types(I64)
	case "load_u8", "input_load_u8":
		return Types(I64), Types(I32)
	case "store_u8":
		return Types(I64, I32), nil
	case "store_u64", "input_set", "output_set", "var_set":
		return Types(I64, I64), nil
	case "http_request":
		return Types(I64, I64), Types(I64)
	case "input_length", "input_offset", "output_length", "output_offset", "error_get", "memory_bytes", "http_headers":
		return nil, Types(I64)
	case "http_status_code", "get_log_level":
		return nil, Types(I32)
	case "reset":
		return nil, nil
	}
	return Types(I64), nil // free, error_set, log_…
}

// Entry defines an entry that answers 0, unless its code returns another exit code.
func (m *Extism) Entry(name string, code ...string) {
	m.Func(name, nil, Types(I32), Types(I64, I64, I64), Code(code...), Const(0))
}

// Use calls an imported function with what the arguments leave.
func (m *Extism) Use(name string, arguments ...string) string {
	index, ok := m.index[name]
	if !ok {
		panic(fmt.Sprintf("wasmtest: %s is not imported", name))
	}
	return Code(Code(arguments...), Call(index))
}

// Text puts a new block with the text into a local.
func (m *Extism) Text(local uint32, text string) string {
	code := []string{m.Use("alloc", Const64(int64(len(text)))), Set(local)}
	for i := range len(text) {
		code = append(code, m.Use("store_u8", Get(local), Const64(int64(i)), Add64, Const(int32(text[i]))))
	}
	return Code(code...)
}

// Emit answers numbers of type i64, 8 bytes each.
func (m *Extism) Emit(numbers ...string) string {
	length := Const64(int64(8 * len(numbers)))
	code := []string{m.Use("alloc", length), Set(Third)}
	for i, number := range numbers {
		code = append(code, m.Use("store_u64", Get(Third), Const64(int64(8*i)), Add64, number))
	}
	return Code(slices.Concat(code, []string{m.Use("output_set", Get(Third), length)})...)
}

// Answer answers the whole block of a local.
func (m *Extism) Answer(local uint32) string {
	return m.Use("output_set", Get(local), m.Use("length", Get(local)))
}
