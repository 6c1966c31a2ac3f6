package wasm

import "time"

// Spec is a module to load.
type Spec struct {
	// Name appears in errors and logs.
	Name string
	// Wasm is the module; it must not change afterwards.
	Wasm []byte
	// Entries are the exports that can be called, each (i32,i32)->(i64). All must
	// be there.
	Entries []string
	Limits  Limits
	// Pure refuses a module that imports host operations.
	Pure bool
	// Trusted is for modules that ship inside the program and were reviewed with
	// it: their code has no interruption points, which makes it three to sixteen
	// times faster, and sessions share their instances. A loop in such a module
	// stops the whole process. Never set it for anything else.
	Trusted bool
	// Lazy leaves compiling to the first call, which then waits for it.
	Lazy bool
	// Init is the message for the contract's init entry, called on every new
	// instance when it is exported. Nil skips the call.
	Init []byte
	// CheckInit judges the answer of init; nil accepts every answer.
	CheckInit func(answer []byte) error
}

// Limits bound a module. Zero fields take the default.
type Limits struct {
	MemoryMiB      int           // per instance; 32, at most 2048
	Instances      int           // alive at a time; 4
	Deadline       time.Duration // of a call that sets none; 10 s
	Start          time.Duration // of starting an instance; 2 s
	InputBytes     int           // of a call; 16 MiB
	OutputBytes    int           // of a call; 16 MiB
	LogBytes       int           // of a call, then dropped with one notice; 64 KiB
	Operations     int           // of a call; 1,000
	OperationBytes int           // of an operation's request, and of its answer; 16 MiB
}

func (l Limits) withDefaults() Limits {
	set(&l.MemoryMiB, 32)
	set(&l.Instances, 4)
	set(&l.Deadline, 10*time.Second)
	set(&l.Start, 2*time.Second)
	set(&l.InputBytes, 16<<20)
	set(&l.OutputBytes, 16<<20)
	set(&l.LogBytes, 64<<10)
	set(&l.Operations, 1000)
	set(&l.OperationBytes, 16<<20)
	l.MemoryMiB = min(l.MemoryMiB, 2048)
	return l
}

func set[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// pages is the memory limit in Wasm's pages of 64 KiB.
func (l Limits) pages() uint32 { return uint32(l.MemoryMiB) * 16 }
