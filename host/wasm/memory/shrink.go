package memory

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// probeModule is
//
//	(module
//	  (memory (export "memory") 1 3)
//	  (func (export "size") (result i32) memory.size)
//	  (func (export "grow") (result i32) i32.const 1 memory.grow)
//	  (func (export "load") (result i32) i32.const 65536 i32.load))
const probeModule = "\x00asm\x01\x00\x00\x00" +
	"\x01\x05\x01\x60\x00\x01\x7f" +
	"\x03\x04\x03\x00\x00\x00" +
	"\x05\x04\x01\x01\x01\x03" +
	"\x07\x1f\x04\x06memory\x02\x00\x04size\x00\x00\x04grow\x00\x01\x04load\x00\x02" +
	"\x0a\x17\x03\x04\x00\x3f\x00\x0b\x06\x00\x41\x01\x40\x00\x0b\x09\x00\x41\x80\x80\x04\x28\x02\x00\x0b"

// probe is the memory of the module, on the heap.
type probe struct {
	bytes    []byte
	shortens bool
}

func (p *probe) Allocate(_, _ uint64) experimental.LinearMemory { return p }

func (p *probe) Reallocate(size uint64) []byte {
	if p.shortens {
		size = PageBytes
	}
	return p.bytes[:size:size]
}

func (p *probe) Free() {}

// shrinks tries out whether an instance takes the shorter memory it is given when
// it asks for a longer one: guest code and host must see its size, be kept from
// what lies beyond, and be able to grow again. wazero does not promise it.
func shrinks() bool {
	p := &probe{bytes: make([]byte, 3*PageBytes)}
	ctx := experimental.WithMemoryAllocator(context.Background(), p)
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithDebugInfoEnabled(false))
	defer runtime.Close(ctx)
	guest, err := runtime.Instantiate(ctx, []byte(probeModule))
	if err != nil {
		return false
	}
	if !answers(guest, "grow", 1) || !answers(guest, "load", 0) {
		return false
	}
	p.shortens = true
	_, ok := guest.Memory().Grow(1)
	p.shortens = false
	if _, err := guest.ExportedFunction("load").Call(ctx); err == nil {
		return false
	}
	return ok && guest.Memory().Size() == PageBytes && answers(guest, "size", 1) &&
		answers(guest, "grow", 1) && answers(guest, "load", 0) && guest.Memory().Size() == 2*PageBytes
}

func answers(guest api.Module, function string, expected uint64) bool {
	results, err := guest.ExportedFunction(function).Call(context.Background())
	return err == nil && results[0] == expected
}
