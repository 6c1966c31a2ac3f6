package wasm

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestHandlesAgainstModel does at random what guests do and holds every byte
// against a map.
func TestHandlesAgainstModel(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	h := newHandles(&Limits{HandleMiB: 1, Handles: 200}, func(int64) error { return nil })
	model := make(map[uint64][]byte)
	ever := make(map[uint64]bool)
	pick := func() uint64 {
		known := slices.Sorted(maps.Keys(ever))
		if len(known) == 0 {
			return 0
		}
		return known[random.IntN(len(known))]
	}
	for range 20_000 {
		switch at := pick(); random.IntN(8) {
		case 0, 1:
			length := 1 + random.Uint64N(40)
			made, err := h.alloc(length)
			if err != nil {
				if _, full := errors.AsType[*LimitError](err); !full || len(model) < 200 {
					t.Fatal(err)
				}
				continue
			}
			if ever[made] {
				t.Fatalf("the address %d is used twice", made)
			}
			ever[made], model[made] = true, make([]byte, length)
		case 2:
			h.free(at)
			delete(model, at)
		case 3:
			h.free(at + 1 + random.Uint64N(50)) // no handle, or another one's
			for other := range model {
				if h.view(other) == nil {
					delete(model, other)
				}
			}
		case 4:
			offset, value := random.Uint64N(60), random.Uint64()
			h.store64(at+offset, value)
			for i := range uint64(8) {
				if offset+i < uint64(len(model[at])) {
					model[at][offset+i] = byte(value >> (8 * i))
				} else if offset >= uint64(len(model[at])) {
					storeNext(model, at+offset, i, value)
				}
			}
		default:
			for from, want := range model {
				if got := h.view(from); string(got) != string(want) {
					t.Fatalf("block %d has %x, want %x", from, got, want)
				}
			}
		}
	}
	used := 0
	for _, kept := range model {
		used += len(kept)
	}
	if h.live != len(model) || h.used != int64(used) || len(h.blocks) > 2*h.live+65 {
		t.Errorf("%d blocks of %d bytes, %d with the dead; want %d of %d", h.live, h.used, len(h.blocks), len(model), used)
	}
}

// storeNext writes byte i of a word whose address lies in no piece of the block it
// was counted from: it may lie in another block, and stays within that.
func storeNext(model map[uint64][]byte, address, i, value uint64) {
	for from, bytes := range model {
		if address >= from && address-from < uint64(len(bytes)) && address-from+i < uint64(len(bytes)) {
			bytes[address-from+i] = byte(value >> (8 * i))
		}
	}
}

// TestFreedHandle shows that an address that was given back is nobody's.
func TestFreedHandle(t *testing.T) {
	h := newHandles(&Limits{HandleMiB: 1, Handles: 10}, func(int64) error { return nil })
	old, err := h.put([]byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	h.free(old)
	next, err := h.put([]byte("other!"))
	if err != nil {
		t.Fatal(err)
	}
	h.store64(old, 1)
	if h.view(old) != nil || h.load64(old) != 0 || string(h.view(next)) != "other!" {
		t.Errorf("the freed handle shows %x, %x; its successor %q", h.view(old), h.load64(old), h.view(next))
	}
	h.reset()
	again, err := h.alloc(6)
	if err != nil || again == old || again == next || h.view(next) != nil {
		t.Errorf("after a reset: handle %d, %v; before %d and %d", again, err, old, next)
	}
}

// TestBlocksLieApart runs over the end of a block, by a byte and by a word.
func TestBlocksLieApart(t *testing.T) {
	h := newHandles(&Limits{HandleMiB: 1, Handles: 10}, func(int64) error { return nil })
	for _, length := range []uint64{1, 7, 8, 16, 4096} {
		first, err := h.alloc(length)
		if err != nil {
			t.Fatal(err)
		}
		next, err := h.put([]byte("neighbour"))
		if err != nil {
			t.Fatal(err)
		}
		for past := range uint64(handleGap) {
			if bytes := h.at(first + length + past); bytes != nil {
				t.Errorf("%d bytes past a block of %d lies %q", past, length, bytes)
			}
		}
		h.store64(first+length-1, ^uint64(0))
		if got := string(h.view(next)); got != "neighbour" {
			t.Errorf("behind a block of %d lies %q", length, got)
		}
	}
}
