package random

import (
	"runtime"
	"strconv"
	"unsafe"
)

//go:wasmexport plinth_reseed
func reseedEntry() { reseed() }

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(at unsafe.Pointer, size uint32) uint32

// read fills p from the host. A host without randomness must not be taken for one
// that rolled zeros.
func read(p []byte) {
	errno := randomGet(unsafe.Pointer(unsafe.SliceData(p)), uint32(len(p)))
	runtime.KeepAlive(p)
	if errno != 0 {
		panic("the host gives no randomness: errno " + strconv.Itoa(int(errno)))
	}
}
