//go:build tinygo && wasip1

package guest

import "unsafe"

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(at unsafe.Pointer, size uint32) uint32

// TinyGo's runtime, and with it crypto/rand, math/rand and the seeds of maps, takes
// randomness from these two functions. Those of its C library are seeded once, and
// then calls that start from one snapshot have the same keys. These ask the host.

//export arc4random
func random() (number uint32) {
	randomBytes(unsafe.Pointer(&number), uint(unsafe.Sizeof(number)))
	return number
}

//export arc4random_buf
func randomBytes(at unsafe.Pointer, size uint) {
	if randomGet(at, uint32(size)) != 0 {
		panic("the host gives no randomness")
	}
}
