package wasm

import (
	"encoding/binary"
	"sort"
)

// handles is what an Extism guest takes for the kernel's memory: blocks of bytes
// outside of its own, each known by the address of its first byte. The addresses
// only look like those of one memory. A block lies apart from its neighbours and
// an address is used once, so running over the end of a block, or going on with
// one that was given back, reaches nobody else's bytes. Reading where no block is
// answers zeros and writing there does nothing.
type handles struct {
	reserve func(bytes int64) error // of all guests' memory
	most    int64                   // bytes in use
	count   int                     // blocks in use

	blocks []block // by address; those given back stay until compact
	next   uint64  // address of the next block
	live   int
	used   int64 // bytes of the live blocks
	held   int64 // bytes reserved
	recent int   // index of the block used last: guests walk through one at a time

	input, output span
	failure       uint64 // handle of the error message; 0 for none
}

// block is bytes at an address; nil once given back.
type block struct {
	at    uint64
	bytes []byte
}

// span is a piece of a block. It keeps the bytes when the block is given back.
type span struct {
	at    uint64
	bytes []byte
}

const (
	firstHandle  = 64 // no guest takes it for null
	handleGap    = 16 // at least, between the end of a block and the next one
	reserveBytes = 64 << 10
	kernelBytes  = 1 << 20 // of memory that Extism's kernel begins with
)

func newHandles(limits *Limits, reserve func(bytes int64) error) *handles {
	return &handles{reserve: reserve, most: int64(limits.HandleMiB) << 20, count: limits.Handles, next: firstHandle}
}

// alloc makes a block of zeros and answers its handle, which is 0 for an empty
// one. It fails with a *LimitError.
func (h *handles) alloc(length uint64) (uint64, error) {
	if length == 0 {
		return 0, nil
	}
	if length > uint64(h.most-h.used) {
		return 0, &LimitError{What: "bytes of Extism memory in one call", Got: h.used + int64(min(length, 1<<40)), Limit: h.most, Knob: "HandleMiB"}
	}
	if h.live >= h.count {
		return 0, &LimitError{What: "blocks of Extism memory in one call", Got: int64(h.live) + 1, Limit: int64(h.count), Knob: "Handles"}
	}
	if lacking := h.used + int64(length) - h.held; lacking > 0 {
		lacking = (lacking + reserveBytes - 1) / reserveBytes * reserveBytes
		if err := h.reserve(lacking); err != nil {
			return 0, err
		}
		h.held += lacking
	}
	at := h.next
	h.recent = len(h.blocks)
	h.blocks = append(h.blocks, block{at: at, bytes: make([]byte, length)})
	h.next = (at+length+7)&^7 + handleGap
	h.live++
	h.used += int64(length)
	return at, nil
}

// put makes a block of a copy of data.
func (h *handles) put(data []byte) (uint64, error) {
	at, err := h.alloc(uint64(len(data)))
	if err == nil && at != 0 {
		copy(h.blocks[h.recent].bytes, data)
	}
	return at, err
}

// free gives a block back. What is no handle is ignored.
func (h *handles) free(at uint64) {
	found := h.block(at)
	if found == nil {
		return
	}
	if at == h.input.at {
		h.input.bytes = nil
	}
	h.live--
	h.used -= int64(len(found.bytes))
	found.bytes = nil
	if dead := len(h.blocks) - h.live; dead > 64 && dead > h.live {
		h.compact()
	}
}

func (h *handles) compact() {
	kept := h.blocks[:0]
	for _, b := range h.blocks {
		if b.bytes != nil {
			kept = append(kept, b)
		}
	}
	clear(h.blocks[len(kept):])
	h.blocks, h.recent = kept, 0
}

// at answers the bytes of a live block from an address on, nil where none is.
func (h *handles) at(address uint64) []byte {
	if h.recent < len(h.blocks) {
		if bytes := h.blocks[h.recent].from(address); bytes != nil {
			return bytes
		}
	}
	behind := sort.Search(len(h.blocks), func(i int) bool { return h.blocks[i].at > address })
	if behind == 0 {
		return nil
	}
	h.recent = behind - 1
	return h.blocks[h.recent].from(address)
}

func (b *block) from(address uint64) []byte {
	if address < b.at || address-b.at >= uint64(len(b.bytes)) {
		return nil
	}
	return b.bytes[address-b.at:]
}

// block answers the live block of a handle, nil when it is none.
func (h *handles) block(at uint64) *block {
	if h.at(at) == nil || h.blocks[h.recent].at != at {
		return nil
	}
	return &h.blocks[h.recent]
}

// view answers the bytes of a handle, which the table shares; none when it is no
// handle.
func (h *handles) view(at uint64) []byte {
	if found := h.block(at); found != nil {
		return found.bytes
	}
	return nil
}

// size is how many bytes the guest can take for memory, in whole pages: as many as
// the kernel begins with, or more.
func (h *handles) size() uint64 {
	return max(kernelBytes, (h.next+wasmPage-1)/wasmPage*wasmPage)
}

// load64 reads 8 bytes; those outside of the block are 0.
func (h *handles) load64(address uint64) uint64 { return word(h.at(address), 0) }

// word reads 8 bytes at an index; those behind the end are 0.
func word(bytes []byte, at uint64) uint64 {
	if at >= uint64(len(bytes)) {
		return 0
	}
	if bytes = bytes[at:]; len(bytes) >= 8 {
		return binary.LittleEndian.Uint64(bytes)
	}
	var short [8]byte
	copy(short[:], bytes)
	return binary.LittleEndian.Uint64(short[:])
}

// store64 writes 8 bytes; those outside of the block are dropped.
func (h *handles) store64(address, value uint64) {
	var bytes [8]byte
	binary.LittleEndian.PutUint64(bytes[:], value)
	copy(h.at(address), bytes[:])
}

// span answers a piece of one block, which may be empty: it follows what is written
// to it later. false when there is no such piece.
func (h *handles) span(at, length uint64) (span, bool) {
	bytes := h.at(at)
	if bytes == nil || length > uint64(len(bytes)) {
		return span{}, false
	}
	return span{at: at, bytes: bytes[:length]}, true
}

// reset gives everything back.
func (h *handles) reset() {
	clear(h.blocks)
	h.blocks, h.recent, h.live, h.used = h.blocks[:0], 0, 0, 0
	h.input, h.output, h.failure = span{}, span{}, 0
}
