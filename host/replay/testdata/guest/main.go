// A guest built by the plain Go toolchain, for the tests of host/replay: what it
// answers and what it costs depend on all that a Go program takes from its world,
// such as the seeds of its maps, the collector, the scheduler and the time.
package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// live keeps what crossed the border reachable.
var live = make(map[uint32][]byte)

func main() {}

//go:wasmexport plinth_abi_1
func marker() {}

//go:wasmexport plinth_alloc
func alloc(length uint32) uint32 {
	room := make([]byte, max(length, 1))
	at := address(room)
	live[at] = room
	return at
}

func address(b []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

func message(text string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
}

//go:wasmimport plinth host_call
func hostCall(name, nameLength, request, requestLength uint32) uint32

//go:wasmimport plinth host_read
func hostRead(at uint32)

// ask answers the JSON of an operation's answer.
func ask(name, request string) string {
	operation, body := []byte(name), message(request)
	room := make([]byte, hostCall(address(operation), uint32(len(operation)), address(body), uint32(len(body))))
	hostRead(address(room))
	return string(room[4:])
}

//go:wasmexport plinth_tool_execute
func execute(uint32, uint32) uint64 {
	var text strings.Builder
	fmt.Fprintln(&text, time.Now().UnixNano(), rand.Uint64())
	set := map[string]int{}
	for i := range 2000 {
		set[fmt.Sprint(i, rand.IntN(1000))] = i
	}
	for key := range set { // in the map's own order
		text.WriteString(key)
	}
	var mu sync.Mutex
	var work sync.WaitGroup
	for worker := range 8 {
		work.Go(func() {
			garbage := 0
			for range 200 { // more than the collector leaves alone
				garbage += len(make([]byte, 10_000+rand.IntN(10_000)))
			}
			time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintln(&text, worker, garbage)
		})
	}
	work.Wait()
	for i := range 3 {
		text.WriteString(ask("progress", fmt.Sprintf(`{"text":"%d"}`, i)))
	}
	os.Stderr.WriteString(fmt.Sprintln("drew", rand.Uint64()))
	answer := message(fmt.Sprintf(`{"ok":%q}`, text.String()))
	live[address(answer)] = answer
	return uint64(address(answer))<<32 | uint64(len(answer))
}
