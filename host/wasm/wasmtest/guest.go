package wasmtest

// Names of the contract that guests of this package are written for.
const (
	Marker = "test_abi"
	Alloc  = "test_alloc"
	Free   = "test_free"
	Init   = "test_init"
	Reseed = "test_reseed"
	Host   = "test"
	Ask    = "host_call"
	Read   = "host_read"
)

// Room is where a guest's allocator puts every message, so one page takes 60,000
// bytes.
const Room = 4096

// Entry defines an entry: (ptr, len) in locals 0 and 1, four i32 locals 2 to 5,
// and one i64 to leave.
func (m *Module) Entry(name string, code ...string) uint32 {
	return m.Func(name, Types(I32, I32), Types(I64), Types(I32, I32, I32, I32), code...)
}

// Core adds what the contract demands besides entries: one page of memory, the
// marker and an allocator. Imports must be declared before.
func (m *Module) Core() *Module {
	m.Memory(1, 0)
	m.Func(Marker, nil, nil, nil)
	m.Func(Alloc, Types(I32), Types(I32), nil, Const(Room))
	return m
}

// Operations imports the two host functions and answers their indices.
func (m *Module) Operations() (ask, read uint32) {
	ask = m.Import(Host, Ask, Types(I32, I32, I32, I32), Types(I32))
	read = m.Import(Host, Read, Types(I32), nil)
	return ask, read
}

// Guest is a module with the entries most tests need:
//
//	echo     answers its input
//	count    answers one byte, how often it was called in this instance
//	trap     executes unreachable, two calls deep
//	loop     never ends
//	grow     asks for a page until it is refused, answers the pages as 4 bytes
//	swell    grows by 200 pages and answers nothing
//	outside  answers bytes beyond its memory
//	huge     claims an answer of 2 GiB
func Guest() *Module {
	m := new(Module)
	m.Core()
	count := m.Global(0)
	m.Entry("echo", Answer(Get(0), Get(1)))
	m.Entry("count",
		GetGlobal(count), Const(1), Add, SetGlobal(count),
		Const(Room), GetGlobal(count), Store8, Answer(Const(Room), Const(1)))
	inner := m.Func("inner", nil, nil, nil, Unreachable)
	m.Entry("trap", Call(inner), Const64(0))
	m.Entry("loop", Loop, Br(0), End, Const64(0))
	m.Entry("grow",
		Loop, Const(1), Grow, Const(-1), Eq, Eqz, BrIf(0), End,
		Const(Room), Size, Store, Answer(Const(Room), Const(4)))
	m.Entry("swell", Const(200), Grow, Drop, Const64(0))
	m.Entry("outside", Answer(Const(65536-4), Const(8)))
	m.Entry("huge", Answer(Const(Room), Const(-1<<31)))
	return m
}
