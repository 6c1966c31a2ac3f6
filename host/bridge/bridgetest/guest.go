// Package bridgetest makes small guests of abi/v1 for tests: modules that run in
// the real engine and do one thing per entry, such as answering fixed bytes, asking
// the host for an operation, or breaking.
package bridgetest

import (
	"strings"

	"github.com/plinthhost/plinth/abi/pack"
	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// Places in a guest's memory.
const (
	constants = 1 << 10
	room      = 1 << 20 // where every call's message is put
	asked     = 2 << 20 // where an operation's answer is read to
	out       = 3 << 20
	pages     = 64
)

// choose is the instruction select: of two values and a condition, the first when
// it is not 0.
const choose = "\x1b"

// Guest is a module under construction. Its methods answer the guest itself.
type Guest struct {
	module wasmtest.Module
	free   int32 // where the next constant goes
	ask    uint32
	read   uint32
	print  uint32
	once   uint32 // a global: 0 before the first call of AnswersThen
}

// New makes a guest without entries and imports.
func New() *Guest { return start(new(Guest)) }

// NewAsking makes a guest that imports the host operations.
func NewAsking() *Guest {
	g := new(Guest)
	i32 := wasmtest.I32
	g.ask = g.module.Import(abi.ImportModule, abi.ImportCall, wasmtest.Types(i32, i32, i32, i32), wasmtest.Types(i32))
	g.read = g.module.Import(abi.ImportModule, abi.ImportRead, wasmtest.Types(i32), nil)
	return start(g)
}

// NewPrinting makes a guest that can write to its log.
func NewPrinting() *Guest {
	g := new(Guest)
	i32 := wasmtest.I32
	g.print = g.module.Import("wasi_snapshot_preview1", "fd_write", wasmtest.Types(i32, i32, i32, i32), wasmtest.Types(i32))
	return start(g)
}

func start(g *Guest) *Guest {
	g.free = constants
	g.module.Memory(pages, 0)
	g.module.Func(abi.ExportMarker, nil, nil, nil)
	g.module.Func(abi.ExportAlloc, wasmtest.Types(wasmtest.I32), wasmtest.Types(wasmtest.I32), nil, wasmtest.Const(room))
	g.once = g.module.Global(0)
	return g
}

// constant puts text into the memory and answers where it is.
func (g *Guest) constant(text string) (at, length string) {
	place := g.free
	g.module.Data(place, text)
	g.free += int32(len(text)+7) &^ 7
	if g.free > room {
		panic("bridgetest: the guest's constants are too long")
	}
	return wasmtest.Const(place), wasmtest.Const(int32(len(text)))
}

// Message frames an answer's JSON.
func Message(body string) []byte { return abi.EncodeMessage([]byte(body), nil) }

// Answers adds an entry that answers this JSON, whatever it is called with.
func (g *Guest) Answers(export, body string) *Guest { return g.AnswersBytes(export, Message(body)) }

// AnswersBytes adds an entry that answers these bytes.
func (g *Guest) AnswersBytes(export string, message []byte) *Guest {
	g.module.Entry(export, wasmtest.Answer(g.constant(string(message))))
	return g
}

// AnswersThen adds an entry that answers one thing at the first call of an instance
// and another from then on.
func (g *Guest) AnswersThen(export, first, then string) *Guest {
	firstAt, firstLength := g.constant(string(Message(first)))
	thenAt, thenLength := g.constant(string(Message(then)))
	g.module.Entry(export,
		wasmtest.Code(thenAt, firstAt, wasmtest.GetGlobal(g.once), choose, wasmtest.Set(2)),
		wasmtest.Code(thenLength, firstLength, wasmtest.GetGlobal(g.once), choose, wasmtest.Set(3)),
		wasmtest.Code(wasmtest.Const(1), wasmtest.SetGlobal(g.once)),
		wasmtest.Answer(wasmtest.Get(2), wasmtest.Get(3)))
	return g
}

// Decodes adds plinth_provider_decode: it answers one thing to frames, and another
// when the stream is told to be at its end.
func (g *Guest) Decodes(frames, end string) *Guest {
	framesAt, framesLength := g.constant(string(Message(frames)))
	endAt, endLength := g.constant(string(Message(end)))
	// A call ends with "end":true}} or "end":false}}; the fourth byte from the end tells.
	isEnd := wasmtest.Code(wasmtest.Get(0), wasmtest.Get(1), wasmtest.Add, wasmtest.Const(4), wasmtest.Sub,
		wasmtest.Load8, wasmtest.Const('u'), wasmtest.Eq)
	g.module.Entry(abi.ExportProviderDecode,
		wasmtest.Code(endAt, framesAt, isEnd, choose, wasmtest.Set(2)),
		wasmtest.Code(endLength, framesLength, isEnd, choose, wasmtest.Set(3)),
		wasmtest.Answer(wasmtest.Get(2), wasmtest.Get(3)))
	return g
}

// Traps adds an entry that executes unreachable.
func (g *Guest) Traps(export string) *Guest {
	g.module.Entry(export, wasmtest.Unreachable)
	return g
}

// Loops adds an entry that never ends.
func (g *Guest) Loops(export string) *Guest {
	g.module.Entry(export, wasmtest.Loop, wasmtest.Br(0), wasmtest.End, wasmtest.Const64(0))
	return g
}

// Reflects adds an entry that answers before + the JSON it was called with + after.
func (g *Guest) Reflects(export, before, after string) *Guest {
	g.module.Entry(export, g.wrapped(wasmtest.Get(0), before, after))
	return g
}

// Asks adds an entry that asks the host for an operation and answers before + the
// JSON of the host's answer + after.
func (g *Guest) Asks(export, operation, request, before, after string) *Guest {
	name, nameLength := g.constant(operation)
	message, messageLength := g.constant(string(Message(request)))
	g.module.Entry(export,
		wasmtest.Code(name, nameLength, message, messageLength, wasmtest.Call(g.ask), wasmtest.Drop),
		wasmtest.Code(wasmtest.Const(asked), wasmtest.Call(g.read)),
		g.wrapped(wasmtest.Const(asked), before, after))
	return g
}

// Relays adds an entry that asks for whatever its caller says and answers before +
// the JSON of the host's answer + after. It is called with what Relay makes in the
// place of a message.
func (g *Guest) Relays(export, before, after string) *Guest {
	name := wasmtest.Code(wasmtest.Get(0), wasmtest.Const(4), wasmtest.Add)
	g.module.Entry(export,
		wasmtest.Code(wasmtest.Get(0), wasmtest.Load, wasmtest.Set(3)),
		wasmtest.Code(name, wasmtest.Get(3)),
		wasmtest.Code(name, wasmtest.Get(3), wasmtest.Add, wasmtest.Get(1), wasmtest.Const(4), wasmtest.Sub, wasmtest.Get(3), wasmtest.Sub),
		wasmtest.Code(wasmtest.Call(g.ask), wasmtest.Drop),
		wasmtest.Code(wasmtest.Const(asked), wasmtest.Call(g.read)),
		g.wrapped(wasmtest.Const(asked), before, after))
	return g
}

// Relay names an operation and its request, a message of less than 1 MiB, to an
// entry of Relays.
func Relay(operation string, request []byte) []byte {
	return append(abi.EncodeMessage([]byte(operation), nil), request...)
}

// AsksEither adds an entry that asks the host for the second operation when what it was
// called with has the byte mark in it, else for the first, and answers as Asks does.
func (g *Guest) AsksEither(export string, mark byte, first, firstRequest, second, secondRequest, before, after string) *Guest {
	const or = "\x72" // i32.or
	var choice strings.Builder
	for _, pair := range [...][2]string{{first, second}, {string(Message(firstRequest)), string(Message(secondRequest))}} {
		firstAt, firstLength := g.constant(pair[0])
		secondAt, secondLength := g.constant(pair[1])
		choice.WriteString(wasmtest.Code(secondAt, firstAt, wasmtest.Get(2), choose, secondLength, firstLength, wasmtest.Get(2), choose))
	}
	g.module.Entry(export,
		wasmtest.Code(wasmtest.Get(1), wasmtest.Set(3), wasmtest.Loop),
		wasmtest.Code(wasmtest.Get(0), wasmtest.Get(3), wasmtest.Const(1), wasmtest.Sub, wasmtest.Tee(3), wasmtest.Add, wasmtest.Load8),
		wasmtest.Code(wasmtest.Const(int32(mark)), wasmtest.Eq, wasmtest.Get(2), or, wasmtest.Set(2)),
		wasmtest.Code(wasmtest.Get(3), wasmtest.BrIf(0), wasmtest.End),
		wasmtest.Code(choice.String(), wasmtest.Call(g.ask), wasmtest.Drop),
		wasmtest.Code(wasmtest.Const(asked), wasmtest.Call(g.read)),
		g.wrapped(wasmtest.Const(asked), before, after))
	return g
}

// AsksOften adds an entry that asks the host for an operation a number of times and
// answers before + the JSON of the last answer + after.
func (g *Guest) AsksOften(export string, times int, operation, request, before, after string) *Guest {
	name, nameLength := g.constant(operation)
	message, messageLength := g.constant(string(Message(request)))
	g.module.Entry(export,
		wasmtest.Code(wasmtest.Const(int32(times)), wasmtest.Set(3), wasmtest.Loop),
		wasmtest.Code(name, nameLength, message, messageLength, wasmtest.Call(g.ask), wasmtest.Drop),
		wasmtest.Code(wasmtest.Get(3), wasmtest.Const(1), wasmtest.Sub, wasmtest.Tee(3), wasmtest.BrIf(0), wasmtest.End),
		wasmtest.Code(wasmtest.Const(asked), wasmtest.Call(g.read)),
		g.wrapped(wasmtest.Const(asked), before, after))
	return g
}

// Prints adds an entry that writes text to its log and answers this JSON.
func (g *Guest) Prints(export, text, body string) *Guest {
	at, length := g.constant(text)
	vector, _ := g.constant("........")
	written, _ := g.constant("....")
	const stderr = 2
	g.module.Entry(export,
		wasmtest.Code(vector, at, wasmtest.Store),
		wasmtest.Code(vector, wasmtest.Const(4), wasmtest.Add, length, wasmtest.Store),
		wasmtest.Code(wasmtest.Const(stderr), vector, wasmtest.Const(1), written, wasmtest.Call(g.print), wasmtest.Drop),
		wasmtest.Answer(g.constant(string(Message(body)))))
	return g
}

// wrapped answers before + the JSON of the message at source + after.
func (g *Guest) wrapped(source, before, after string) string {
	const (
		load    = "\x28\x02\x00"     // i32.load
		copyTo  = "\xfc\x0a\x00\x00" // memory.copy: to, from, length
		payload = out + 4
	)
	length := wasmtest.Get(2)
	sum := func(first string, more ...string) string {
		var code strings.Builder
		code.WriteString(first)
		for _, term := range more {
			code.WriteString(term + wasmtest.Add)
		}
		return code.String()
	}
	beforeAt, beforeLength := g.constant(before)
	afterAt, afterLength := g.constant(after)
	total := sum(beforeLength, length, afterLength)
	return wasmtest.Code(
		source, load, wasmtest.Set(2),
		wasmtest.Const(payload), beforeAt, beforeLength, copyTo,
		sum(wasmtest.Const(payload), beforeLength), sum(source, wasmtest.Const(4)), length, copyTo,
		sum(wasmtest.Const(payload), beforeLength, length), afterAt, afterLength, copyTo,
		wasmtest.Const(out), total, wasmtest.Store,
		wasmtest.Answer(wasmtest.Const(out), sum(wasmtest.Const(4), total)))
}

// Bytes is the module.
func (g *Guest) Bytes() []byte { return g.module.Bytes() }

// Packed is the module with a manifest in it.
func (g *Guest) Packed(manifest string) []byte {
	packed, err := pack.WithManifest(g.Bytes(), []byte(manifest))
	if err != nil {
		panic("bridgetest: " + err.Error())
	}
	return packed
}
