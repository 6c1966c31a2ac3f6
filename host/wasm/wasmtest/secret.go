package wasmtest

// Conversions between types of one size, and i32.wrap_i64.
const (
	wrap      = "\xa7"
	floatBits = "\xbc" // i32.reinterpret_f32
	double    = "\xbd" // i64.reinterpret_f64
	asFloat   = "\xbe" // f32.reinterpret_i32
	asDouble  = "\xbf" // f64.reinterpret_i64
)

// Secret is a module that hides the 8 bytes it is told and looks for them
// everywhere. It is told their complement, so that the message itself is no find.
//
//	hide   grows by 5 pages, then puts them into memory old and new, over data and
//	       into globals of every type, in 10 places
//	find   answers, as 4 bytes, in how many places they stand
//	reach  grows by 10 pages and does the same
//	trap   hides and traps
func Secret() *Module {
	m := new(Module).Core()
	m.Data(3000, "data that is there at the beginning")
	globals := []uint32{
		m.GlobalOf(I64, Const64(7)), m.Global(7),
		m.GlobalOf(F32, "\x43\x00\x00\x80\x3f"), m.GlobalOf(F64, "\x44\x00\x00\x00\x00\x00\x00\xf0\x3f"),
	}
	hide, look := hiding(globals), looking(globals)
	for _, entry := range [][2]string{
		{"hide", hide + Const64(0)}, {"trap", hide + Unreachable}, {"find", look}, {"reach", Const(10) + Grow + Drop + look},
	} {
		m.Func(entry[0], Types(I32, I32), Types(I64), Types(I64, I32, I32, I32),
			Get(0), Load64, Const64(-1), Xor64, Set(wanted), Get(0), Const64(0), Store64, entry[1])
	}
	return m
}

// Locals of the entries of Secret.
const (
	wanted = 2 + iota
	at
	found
	last
)

func hiding(globals []uint32) string {
	end := Code(Size, Const(65536), Mul, Const(8), Sub)
	code := []string{Const(5), Grow, Drop}
	for _, place := range []string{Const(0), Const(3003), Const(60_001), Const(65_533), Const(300_000), end} {
		code = append(code, place, Get(wanted), Store64)
	}
	return Code(append(code,
		Get(wanted), SetGlobal(globals[0]),
		Get(wanted), wrap, SetGlobal(globals[1]),
		Get(wanted), wrap, asFloat, SetGlobal(globals[2]),
		Get(wanted), asDouble, SetGlobal(globals[3]))...)
}

func looking(globals []uint32) string {
	count := Code(Get(found), Add, Set(found))
	return Code(
		GetGlobal(globals[0]), Get(wanted), Eq64, count,
		GetGlobal(globals[1]), Get(wanted), wrap, Eq, count,
		GetGlobal(globals[2]), floatBits, Get(wanted), wrap, Eq, count,
		GetGlobal(globals[3]), double, Get(wanted), Eq64, count,
		Size, Const(65536), Mul, Const(7), Sub, Set(last),
		Loop,
		Get(at), Load64, Get(wanted), Eq64, count,
		Get(at), Const(1), Add, Tee(at), Get(last), Less, BrIf(0),
		End,
		Const(Room), Get(found), Store, Answer(Const(Room), Const(4)))
}
