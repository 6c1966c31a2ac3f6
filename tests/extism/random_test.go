package extism

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/plinthhost/plinth/host/wasm"
	w "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// programs writes entries that use blocks at random, as a PDK may: what they read
// they have written, and it is within a block. What a new block holds, what a freed
// one holds and what lies between two blocks is left open by the PDKs, and differs:
// the kernel shows old bytes there, the engine zeros.
type programs struct {
	*w.Extism
	random *rand.Rand
	sizes  [handleLocals]int64 // of the block in each local; 0 for none
	code   []string
}

// Locals of such an entry.
const (
	handleLocals = 6
	sum          = handleLocals // of all that was read
	mul64        = "\x7e"       // i64.mul
)

// program defines an entry of so many steps.
func (p *programs) program(name string, steps int) {
	p.sizes, p.code = [handleLocals]int64{}, nil
	for range steps {
		p.step(uint32(p.random.IntN(handleLocals)))
	}
	p.add(p.Use("alloc", w.Const64(8)), w.Set(0), p.Use("store_u64", w.Get(0), w.Get(sum)))
	if p.random.IntN(2) == 0 {
		p.add(p.Use("output_set", w.Get(0), w.Const64(8)))
	}
	p.Func(name, nil, w.Types(w.I32), w.Types(w.I64, w.I64, w.I64, w.I64, w.I64, w.I64, w.I64), w.Code(p.code...), w.Const(p.random.Int32N(2)))
}

func (p *programs) add(code ...string) { p.code = append(p.code, code...) }

// step is one thing done to the block of a local, which is made first where there
// is none.
func (p *programs) step(local uint32) {
	size := p.sizes[local]
	if size == 0 {
		p.fill(local)
		return
	}
	at := p.random.Int64N(size)
	address := w.Code(w.Get(local), w.Const64(at), w.Add64)
	switch p.random.IntN(10) {
	case 0:
		p.add(p.Use("free", w.Get(local)))
		p.note(p.Use("length", w.Get(local)))
		p.sizes[local] = 0
	case 1:
		p.add(p.Use("store_u8", address, w.Const(p.random.Int32())))
	case 2:
		if at+8 <= size {
			p.add(p.Use("store_u64", address, w.Const64(p.random.Int64())))
		}
	case 3:
		p.note(w.Code(p.Use("load_u8", address), w.Extend))
	case 4:
		if at+8 <= size {
			p.note(p.Use("load_u64", address))
		}
	case 5:
		p.note(p.Use("length", w.Get(local)))
		p.note(p.Use("length_unsafe", w.Get(local)))
	case 6:
		p.add(p.Use("output_set", address, w.Const64(p.random.Int64N(size-at)+1)))
	case 7:
		p.add(p.Use("error_set", address))
	case 8:
		p.note(w.Code(p.Use("input_load_u8", w.Const64(at)), w.Extend))
		p.note(p.Use("input_length"))
	case 9:
		p.add(p.Use("error_set", w.Const64(0)))
	}
}

// fill makes a block and writes all of it.
func (p *programs) fill(local uint32) {
	size := 1 + p.random.Int64N(30)
	p.sizes[local] = size
	p.add(p.Use("alloc", w.Const64(size)), w.Set(local))
	for at := range size {
		p.add(p.Use("store_u8", w.Get(local), w.Const64(at), w.Add64, w.Const(p.random.Int32N(256))))
	}
}

// note makes a number part of the sum.
func (p *programs) note(number string) {
	p.add(w.Get(sum), w.Const64(31), mul64, number, w.Add64, w.Set(sum))
}

// TestRandomPrograms compares what programs made at random read, answer and set as
// their error.
func TestRandomPrograms(t *testing.T) {
	const count, steps = 200, 60
	p := &programs{Extism: w.NewExtism("plinth_abi_1"), random: rand.New(rand.NewPCG(3, 4))}
	spec := wasm.Spec{}
	for n := range count {
		name := fmt.Sprintf("program_%d", n)
		p.program(name, steps)
		spec.Entries = append(spec.Entries, name)
	}
	spec.Wasm = p.Bytes()
	engine, oracle := hosts(t, spec)
	failed, answered := 0, 0
	for _, entry := range spec.Entries {
		got := compare(t, engine, oracle, entry, "an input of some bytes")
		if got.Message != "" {
			failed++
		}
		if got.Output != "" {
			answered++
		}
	}
	if failed < count/20 || answered < count/2 {
		t.Errorf("of %d programs %d set an error and %d answered: they show too little", count, failed, answered)
	}
}
