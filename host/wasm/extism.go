package wasm

import (
	"context"
	"strings"

	"github.com/tetratelabs/wazero/api"
)

// Import modules of what an Extism PDK builds. The one operation of extismUser has
// the contract's name and takes and answers handles.
const (
	extismPrefix = "extism:host/"
	extismEnv    = extismPrefix + "env"
	extismUser   = extismPrefix + "user"

	typeExtismEntry = "()->(i32)"
	typeExtismCall  = "(i64,i64)->(i64)"
)

// isExtism says which of the two import sets a module uses: what imports anything
// of Extism's speaks its way, also in its entries.
func isExtism(info Info) bool {
	for _, entry := range info.Imports {
		if strings.HasPrefix(entry.Module, extismPrefix) {
			return true
		}
	}
	return false
}

// extismFunction serves one function of Extism's kernel. Parameters are on the
// stack, and the result goes to its first place.
type extismFunction struct {
	kind  string // its type
	world bool   // reaches beyond the call: nothing for pure modules
	serve func(c *call, stack []uint64)
}

// extismFuel is what a function costs besides its bytes: about its time.
const extismFuel = 40

// host is the function as wazero calls it. Each call costs fuel, so that a guest
// which does little else can be stopped all the same.
func (f extismFunction) host() api.GoModuleFunc {
	return func(ctx context.Context, _ api.Module, stack []uint64) {
		c := callOf(ctx)
		c.charge(extismFuel)
		f.serve(c, stack)
	}
}

// extismFunctionNamed answers the function a guest imports by that name.
func extismFunctionNamed(name string) (extismFunction, bool) {
	function, ok := memoryFunction(name)
	if !ok {
		function, ok = exchangeFunction(name)
	}
	if !ok {
		function, ok = worldFunction(name)
	}
	return function, ok
}

// memoryFunction answers a function on blocks.
func memoryFunction(name string) (extismFunction, bool) {
	switch name {
	case "alloc":
		return extismFunction{kind: "(i64)->(i64)", serve: extismAlloc}, true
	case "free":
		return extismFunction{kind: "(i64)->()", serve: extismFree}, true
	case "length", "length_unsafe":
		return extismFunction{kind: "(i64)->(i64)", serve: extismLength}, true
	case "load_u8":
		return extismFunction{kind: "(i64)->(i32)", serve: extismLoad8}, true
	case "load_u64":
		return extismFunction{kind: "(i64)->(i64)", serve: extismLoad64}, true
	case "store_u8":
		return extismFunction{kind: "(i64,i32)->()", serve: extismStore8}, true
	case "store_u64":
		return extismFunction{kind: "(i64,i64)->()", serve: extismStore64}, true
	case "memory_bytes":
		return extismFunction{kind: "()->(i64)", serve: extismBytes}, true
	case "reset":
		return extismFunction{kind: "()->()", serve: extismReset}, true
	}
	return extismFunction{}, false
}

// exchangeFunction answers a function on input, output and error.
func exchangeFunction(name string) (extismFunction, bool) {
	switch name {
	case "input_length":
		return extismFunction{kind: "()->(i64)", serve: extismInputLength}, true
	case "input_offset":
		return extismFunction{kind: "()->(i64)", serve: extismInputOffset}, true
	case "input_load_u8":
		return extismFunction{kind: "(i64)->(i32)", serve: extismInputLoad8}, true
	case "input_load_u64":
		return extismFunction{kind: "(i64)->(i64)", serve: extismInputLoad64}, true
	case "input_set":
		return extismFunction{kind: "(i64,i64)->()", serve: extismInputSet}, true
	case "output_set":
		return extismFunction{kind: "(i64,i64)->()", serve: extismOutputSet}, true
	case "output_length":
		return extismFunction{kind: "()->(i64)", serve: extismOutputLength}, true
	case "output_offset":
		return extismFunction{kind: "()->(i64)", serve: extismOutputOffset}, true
	case "error_set":
		return extismFunction{kind: "(i64)->()", serve: extismErrorSet}, true
	case "error_get":
		return extismFunction{kind: "()->(i64)", serve: extismErrorGet}, true
	}
	return extismFunction{}, false
}

// worldFunction answers a function on what is outside of the guest and its call.
func worldFunction(name string) (extismFunction, bool) {
	switch name {
	case "config_get":
		return extismFunction{kind: "(i64)->(i64)", serve: extismConfigGet}, true
	case "get_log_level":
		return extismFunction{kind: "()->(i32)", serve: extismLogLevel}, true
	case "log_trace", "log_debug", "log_info", "log_warn", "log_error":
		return extismFunction{kind: "(i64)->()", serve: extismLog(strings.TrimPrefix(name, "log_"))}, true
	case "var_get":
		return extismFunction{kind: "(i64)->(i64)", world: true, serve: extismVarGet}, true
	case "var_set":
		return extismFunction{kind: "(i64,i64)->()", world: true, serve: extismVarSet}, true
	case "http_request":
		return extismFunction{kind: "(i64,i64)->(i64)", world: true, serve: extismHTTPRequest}, true
	case "http_status_code":
		return extismFunction{kind: "()->(i32)", world: true, serve: extismHTTPStatus}, true
	case "http_headers":
		return extismFunction{kind: "()->(i64)", world: true, serve: extismHTTPHeaders}, true
	}
	return extismFunction{}, false
}
