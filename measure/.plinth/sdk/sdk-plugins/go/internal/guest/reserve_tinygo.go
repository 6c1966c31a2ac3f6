//go:build tinygo && wasip1

package guest

import _ "unsafe" // for go:linkname

// growHeap doubles the module's memory.
//
//go:linkname growHeap runtime.growHeap
func growHeap() bool

//export llvm.wasm.memory.size.i32
func memorySize(memory int32) int32 // pages of 64 KiB

const (
	page = 64 << 10
	// maxReserve leaves the most of what a provider may have to the heap itself.
	maxReserve = 24 << 20
)

// Reserve grows the memory to size bytes before a large message is read. What is read
// points into the message in thousands of places, and from each of them TinyGo's
// collector walks to the message's start: collecting 500 KB so takes 50 ms. In a memory
// that is large enough nothing is collected before the call is over.
func Reserve(size int) {
	size = min(size, maxReserve)
	for int(memorySize(0))*page < size && growHeap() {
	}
}
