// A guest built by the plain Go toolchain, for the tests of host/wasm. It shows
// that such a build starts, keeps its heap between calls and prints, sleeps and
// asks through the functions the engine serves.
package main

import (
	"os"
	"strings"
	"time"
	"unsafe"
)

// live keeps what crossed the border reachable.
var live = make(map[uint32][]byte)

func main() {}

//go:wasmexport test_abi
func marker() {}

//go:wasmexport test_alloc
func alloc(length uint32) uint32 {
	room := make([]byte, max(length, 1))
	at := address(room)
	live[at] = room
	return at
}

//go:wasmexport test_free
func free(at, _ uint32) { delete(live, at) }

func address(b []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

func answer(text string) uint64 {
	at := alloc(uint32(len(text)))
	copy(live[at], text)
	return uint64(at)<<32 | uint64(len(text))
}

func input(at, length uint32) string {
	text := string(live[at][:length])
	delete(live, at)
	return text
}

//go:wasmexport upper
func upper(at, length uint32) uint64 { return answer(strings.ToUpper(input(at, length))) }

//go:wasmexport crash
func crash(at, length uint32) uint64 {
	if text := input(at, length); text != "" {
		panic(text)
	}
	return 0
}

//go:wasmexport say
func say(at, length uint32) uint64 {
	println(input(at, length))
	os.Stdout.WriteString("and on stdout\n")
	return 0
}

//go:wasmexport nap
func nap(at, length uint32) uint64 {
	began := time.Now()
	time.Sleep(time.Duration(len(input(at, length))) * time.Millisecond)
	return answer(time.Since(began).String())
}

//go:wasmexport files
func files(at, length uint32) uint64 {
	if _, err := os.ReadFile(input(at, length)); err != nil {
		return answer(err.Error())
	}
	return answer("read it")
}

//go:wasmimport test host_call
func hostCall(name, nameLength, request, requestLength uint32) uint32

//go:wasmimport test host_read
func hostRead(at uint32)

//go:wasmexport ask
func ask(at, length uint32) uint64 {
	name := []byte("test.op")
	request := live[at]
	size := hostCall(address(name), uint32(len(name)), at, length)
	room := alloc(size)
	hostRead(room)
	delete(live, address(request))
	return uint64(room)<<32 | uint64(size)
}

//go:wasmexport frames
func frames(at, length uint32) uint64 {
	words := 0
	for line := range strings.Lines(input(at, length)) {
		words += len(strings.Fields(line))
	}
	return uint64(answer(strings.Repeat(".", words)))
}
