package wasm

import "time"

// Spec is a module to load.
type Spec struct {
	// Name appears in errors and logs.
	Name string
	// Wasm is the module; it must not change afterwards.
	Wasm []byte
	// Entries are the exports that can be called, each (i32,i32)->(i64), or ()->(i32)
	// in a module built with an Extism PDK. All must be there.
	Entries []string
	Limits  Limits
	// Pure refuses a module that imports host operations.
	Pure bool
	// Builtin is for modules that ship inside the program: they are compiled in this
	// process. All others are compiled by Options.Compiler.
	Builtin bool
	// Isolation is what keeps calls apart; "" is Restore.
	Isolation Isolation
	// Lazy leaves the first instance to the first call, and taking the machine code
	// from the cache, too. A module that is not in the cache yet is compiled by Load,
	// so that no call's time goes to the compiler; without a cache the first call waits.
	Lazy bool
	// Config is what Extism's config_get answers.
	Config map[string]string
	// Init is the message for the contract's init entry, called on every new
	// instance when it is exported. Nil skips the call.
	Init []byte
	// Start stands between the world and an instance that starts; Result.Start names
	// what it answered. Nil leaves the world as it is. Several instances may start at
	// a time.
	Start func(world Ambient) Ambient
	// CheckInit judges the answer of init; nil accepts every answer.
	CheckInit func(answer []byte) error
}

func (s Spec) withDefaults() Spec {
	s.Limits = s.Limits.WithDefaults()
	if s.Isolation == "" {
		s.Isolation = Restore
	}
	return s
}

// Isolation is what keeps the calls of a module apart.
type Isolation string

// Isolations. A module that restoring cannot put back has Fresh instead, which
// Module.Report says.
const (
	// Restore puts memory and globals back to how they were after initialisation.
	Restore Isolation = "restore"
	// Fresh starts a new instance for every call.
	Fresh Isolation = "fresh"
	// Sticky keeps an instance per session, with what its calls left in it.
	Sticky Isolation = "sticky"
)

// Limits bound a module. Zero fields take the default.
type Limits struct {
	MemoryMiB      int           // per instance; 32, at most 2048
	Instances      int           // that run or wait to run, at a time; 4
	PoolMiB        int           // memory of the instances in use; 256
	Deadline       time.Duration // of a call that sets none; 10 s
	Wait           time.Duration // for an instance, and for a processor; 30 s
	Start          time.Duration // of starting an instance; 2 s
	Fuel           int64         // of a call; none
	StackKiB       int           // of a call; 1024, held to within the stack one quantum can fill
	InputBytes     int           // of a call; 16 MiB
	OutputBytes    int           // of a call; 16 MiB
	LogBytes       int           // of a call, then dropped with one notice; 64 KiB
	Operations     int           // of a call; 1,000
	OperationBytes int           // of an operation's request, and of its answer; 16 MiB
	HandleMiB      int           // that an Extism module's call holds outside of its memory, its input included; as MemoryMiB
	Handles        int           // blocks that such a call holds; 65,536
	VariableBytes  int           // of the variables in an Extism module's instance; 1 MiB
	StickyCalls    int           // that a sticky instance serves; 1,000
	StickyAge      time.Duration // that a sticky instance lives; 1 h
}

// WithDefaults fills in the zero fields.
func (l Limits) WithDefaults() Limits {
	set(&l.MemoryMiB, 32)
	set(&l.Instances, 4)
	set(&l.PoolMiB, 256)
	set(&l.Deadline, 10*time.Second)
	set(&l.Wait, 30*time.Second)
	set(&l.Start, 2*time.Second)
	set(&l.StackKiB, 1024)
	set(&l.InputBytes, 16<<20)
	set(&l.OutputBytes, 16<<20)
	set(&l.LogBytes, 64<<10)
	set(&l.Operations, 1000)
	set(&l.OperationBytes, 16<<20)
	set(&l.StickyCalls, 1000)
	set(&l.StickyAge, time.Hour)
	l.MemoryMiB = min(l.MemoryMiB, 2048)
	set(&l.HandleMiB, l.MemoryMiB)
	set(&l.Handles, 65536)
	set(&l.VariableBytes, 1<<20)
	return l
}

func set[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// pages is the memory limit in Wasm's pages of 64 KiB.
func (l Limits) pages() uint32 { return uint32(l.MemoryMiB) * 16 }
