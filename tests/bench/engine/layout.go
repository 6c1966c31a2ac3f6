package main

import (
	"slices"

	"github.com/plinthhost/plinth/host/wasm/binary"
	"github.com/plinthhost/plinth/host/wasm/meter"
)

// layouts is how many placements of the machine code ratios are averaged over: where
// a loop begins alone makes it some percent faster or slower.
const layouts = 5

// shifted is the module with n times a store that changes nothing at the beginning
// of its first function, so that all code behind lies elsewhere.
func shifted(module *binary.Module, n int) *binary.Module {
	const at, alignment, offset = 8, 2, 0
	var code []byte
	for range n {
		code = binary.AppendI32(code, at)
		code = binary.AppendI32(code, at)
		code = append(code, i32Load, alignment, offset, i32Store, alignment, offset)
	}
	moved := *module
	moved.Bodies = slices.Clone(module.Bodies)
	moved.Bodies[0].Code = append(code, module.Bodies[0].Code...)
	return &moved
}

const i32Load, i32Store = 0x28, 0x36

// pair is a module in one layout, as it was and metered.
func pair(module *binary.Module, layout int) (plain, metered []byte, err error) {
	moved := shifted(module, layout)
	metered, _, err = meter.Rewrite(moved, meter.Options{})
	return moved.Encode(), metered, err
}
