//go:build wasip1

// The guest of the engine's benchmark: the engine's ABI and nothing else, so that
// the same module runs on the bare runtime. Go and TinyGo build it.
package main

import (
	"encoding/json"
	"unsafe"
)

var live = make(map[uint32][]byte)

func main() {}

//go:wasmexport plinth_abi_1
func marker() {}

//go:wasmexport plinth_alloc
func alloc(length uint32) uint32 {
	room := make([]byte, max(length, 1))
	at := uint32(uintptr(unsafe.Pointer(unsafe.SliceData(room))))
	live[at] = room
	return at
}

//go:wasmexport plinth_free
func free(at, _ uint32) { delete(live, at) }

//go:wasmexport noop
func noop(at, _ uint32) uint64 {
	delete(live, at)
	return 0
}

//go:wasmexport echo
func echo(at, length uint32) uint64 { return uint64(at)<<32 | uint64(length) }

type record struct {
	ID     string            `json:"id"`
	Kind   string            `json:"kind"`
	Text   string            `json:"text"`
	Count  int64             `json:"count"`
	Ratio  float64           `json:"ratio"`
	Done   bool              `json:"done"`
	Labels []string          `json:"labels"`
	Extra  map[string]string `json:"extra"`
}

// document decodes and encodes records.
//
//go:wasmexport document
func document(at, length uint32) uint64 {
	input := live[at][:length]
	defer delete(live, at)
	var records []record
	if err := json.Unmarshal(input, &records); err != nil {
		return 0
	}
	output, err := json.Marshal(records)
	if err != nil {
		return 0
	}
	at = alloc(uint32(len(output)))
	copy(live[at], output)
	return uint64(at)<<32 | uint64(len(output))
}
