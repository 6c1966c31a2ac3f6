package guest

import (
	"unsafe"

	"github.com/plinthhost/plinth/abi/v1"
)

var (
	// held keeps what the host was given an address of reachable for the collector.
	held = map[uint32][]byte{}
	// answered is the address of the last answer. The host has copied it by the
	// next call, so a host that never frees leaks nothing.
	answered uint32
)

//go:wasmexport plinth_abi_1
func marker() {}

//go:wasmexport plinth_alloc
func alloc(size uint32) uint32 { return hold(make([]byte, size, size+1)) }

//go:wasmexport plinth_free
func free(address, _ uint32) { delete(held, address) }

//go:wasmexport plinth_init
func initEntry(address, size uint32) uint64 { return Entry(abi.ExportInit, address, size) }

// Entry serves a call whose message the host wrote to memory of plinth_alloc. It
// takes that memory back and answers address<<32 | length.
func Entry(export string, address, size uint32) uint64 {
	delete(held, answered)
	message, ok := held[address]
	if !ok || uint32(len(message)) < size {
		return publish(Fail(&abi.Error{Kind: abi.KindInvalidInput, Message: "the call's message is not in memory of " + abi.ExportAlloc}))
	}
	delete(held, address)
	return publish(Serve(export, message[:size]))
}

func publish(answer []byte) uint64 {
	answered = hold(answer)
	return uint64(answered)<<32 | uint64(len(answer))
}

// hold keeps buffer, which has a capacity, until it is freed.
func hold(buffer []byte) uint32 {
	address := uint32(uintptr(unsafe.Pointer(unsafe.SliceData(buffer))))
	held[address] = buffer
	return address
}
