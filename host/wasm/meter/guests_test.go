package meter_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	wasm "github.com/plinthhost/plinth/host/wasm/binary"
	"github.com/plinthhost/plinth/host/wasm/meter"
)

// guest is a module of a compiler on one side, with what its host offers: clocks
// and randomness that repeat, and operations that are answered in order.
type guest struct {
	t       *testing.T
	side    *side
	module  api.Module
	answers [][]byte
	pending []byte
}

// guestForm is a module ready for instances.
type guestForm struct {
	name    string
	wasm    []byte
	data    []meter.Segment // to be written by the host
	o       sideOptions
	import_ string // the module its operations are in
	alloc   string
}

// guestForms are a module as it was built, and metered with several quanta, once
// without its data.
func guestForms(t *testing.T, built []byte, operations, alloc string, interpreter bool) []guestForm {
	t.Helper()
	cache := wazero.NewCompilationCache()
	t.Cleanup(func() { cache.Close(context.Background()) })
	began := time.Now()
	m, err := wasm.Decode(built, wasm.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	whole, report, err := meter.Rewrite(m, meter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes became %d in %s; code %d became %d; %d functions, %d exempt, %d folded; %d loops, %d bulk operations",
		len(built), len(whole), time.Since(began).Round(time.Millisecond/10), report.Code, report.MeteredCode,
		report.Functions, report.Exempt, report.Folded, report.Loops, report.Bulk)
	if len(report.Unrestorable) > 0 || report.Start != (m.Start != nil) {
		t.Errorf("unrestorable %v, start %t", report.Unrestorable, report.Start)
	}
	stripped, withData, err := meter.Rewrite(m, meter.Options{StripData: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(withData.Data) != len(m.Data) || len(stripped) >= len(whole) {
		t.Errorf("%d of %d segments were taken out, %d bytes became %d", len(withData.Data), len(m.Data), len(whole), len(stripped))
	}
	base := guestForm{import_: operations, alloc: alloc, o: sideOptions{interpreter: interpreter, cache: cache}}
	form := func(name string, built []byte, quantum int64) guestForm {
		f := base
		f.name, f.wasm, f.o.name, f.o.quantum = name, built, name, quantum
		return f
	}
	forms := []guestForm{
		form("original", built, 0), form("quantum 1", whole, 1), form("quantum 20,000", whole, 20_000),
		form("without data", stripped, 1_000),
	}
	forms[3].data = withData.Data
	return forms
}

func (f guestForm) start(t *testing.T) *guest {
	t.Helper()
	ctx := context.Background()
	g := &guest{t: t, side: newSide(t, f.o)}
	t.Cleanup(func() { g.side.close(t) })
	wasi_snapshot_preview1.MustInstantiate(ctx, g.side.runtime)
	_, err := g.side.runtime.NewHostModuleBuilder(f.import_).
		NewFunctionBuilder().WithFunc(g.call).Export("host_call").
		NewFunctionBuilder().WithFunc(g.read).Export("host_read").Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	g.module, err = g.side.instantiateTreated("", f.wasm, false)
	if err != nil {
		t.Fatalf("%s: %v", f.name, err)
	}
	for _, segment := range f.data {
		if !g.module.Memory().Write(segment.Offset, segment.Bytes) {
			t.Fatalf("%d bytes at %d do not fit", len(segment.Bytes), segment.Offset)
		}
	}
	for _, name := range []string{meter.Start, "_initialize"} {
		begin := g.module.ExportedFunction(name)
		if begin == nil {
			continue
		}
		if _, err := begin.Call(ctx); err != nil {
			t.Fatalf("%s: %s: %v", f.name, name, err)
		}
	}
	return g
}

func (g *guest) call(context.Context, uint32, uint32, uint32, uint32) uint32 {
	g.pending = message(g.t, `{"error":{"kind":"unavailable","message":"no more answers"}}`, "")
	if len(g.answers) > 0 {
		g.pending, g.answers = g.answers[0], g.answers[1:]
	}
	return uint32(len(g.pending))
}

func (g *guest) read(_ context.Context, m api.Module, at uint32) { m.Memory().Write(at, g.pending) }

// ask calls an entry and answers what it says and what it used.
func (g *guest) ask(alloc, entry string, input []byte) (answer string, fuel int64) {
	g.t.Helper()
	ctx := context.Background()
	before := g.side.fuel()
	room, err := g.module.ExportedFunction(alloc).Call(ctx, uint64(len(input)))
	if err != nil || !g.module.Memory().Write(uint32(room[0]), input) {
		g.t.Fatalf("%s: room for %d bytes: %v", g.side.name, len(input), err)
	}
	result, err := g.module.ExportedFunction(entry).Call(ctx, room[0], uint64(len(input)))
	if err != nil {
		return "failed: " + guestTrace(err), g.side.fuel() - before
	}
	content, ok := g.module.Memory().Read(uint32(result[0]>>32), uint32(result[0]))
	if !ok {
		g.t.Fatalf("%s: an answer outside of the memory", g.side.name)
	}
	return string(content), g.side.fuel() - before
}

// guestTrace is an error without the numbers of functions and the yield.
func guestTrace(err error) string {
	var names []string
	for line := range strings.Lines(err.Error()) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "(")
		names = append(names, name)
	}
	return strings.Join(names, "\n")
}

// message is JSON with bytes behind it, as plugins take and give it.
func message(t *testing.T, body, text string) []byte {
	t.Helper()
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(body)); err != nil {
		t.Fatal(err)
	}
	out := binary.LittleEndian.AppendUint32(nil, uint32(compact.Len()))
	return append(append(out, compact.Bytes()...), text...)
}

// question is one call of a guest.
type question struct {
	entry   string
	input   []byte
	answers [][]byte
}

// golden reads the recorded call of a builtin.
func golden(t *testing.T, plugin, name, entry string) question {
	t.Helper()
	var recorded struct {
		Body       json.RawMessage
		Operations []struct {
			Answer json.RawMessage
			Text   string
		}
	}
	file := filepath.Join("../../../plugins/builtin", plugin, "testdata", name+".json")
	if err := json.Unmarshal(readFile(t, file), &recorded); err != nil {
		t.Fatal(err)
	}
	q := question{entry: entry, input: message(t, string(recorded.Body), "")}
	for _, operation := range recorded.Operations {
		q.answers = append(q.answers, message(t, string(operation.Answer), operation.Text))
	}
	return q
}

// trace is what became of the questions: what was answered, what the memory was
// like afterwards, and, of metered forms, what was used.
type trace struct {
	answers []string
	memory  []uint64
	used    []int64
}

// questioned asks a guest in one form.
func questioned(t *testing.T, form guestForm, seed maphash.Seed, questions []question) (got trace) {
	t.Helper()
	g := form.start(t)
	for _, q := range questions {
		g.answers = q.answers
		answer, fuel := g.ask(form.alloc, q.entry, q.input)
		memory, ok := g.module.Memory().Read(0, g.module.Memory().Size())
		if !ok {
			t.Fatalf("%s: the memory cannot be read", form.name)
		}
		got.answers = append(got.answers, answer)
		got.memory = append(got.memory, maphash.Bytes(seed, memory))
		got.used = append(got.used, fuel)
	}
	return got
}

// compareGuests asks a guest the same in all forms. Guests answer and fail alike,
// leave the same memory, and use the same for every quantum.
func compareGuests(t *testing.T, forms []guestForm, questions []question) trace {
	t.Helper()
	seed := maphash.MakeSeed()
	original := questioned(t, forms[0], seed, questions)
	var used []int64
	for _, form := range forms[1:] {
		got := questioned(t, form, seed, questions)
		if used == nil {
			used = got.used
		}
		for n, q := range questions {
			if got.answers[n] != original.answers[n] {
				t.Fatalf("%s, question %d: %s answers\n%q, want\n%q", form.name, n, q.entry, got.answers[n], original.answers[n])
			}
			if got.memory[n] != original.memory[n] {
				t.Fatalf("%s, question %d: %s leaves another memory than the original", form.name, n, q.entry)
			}
			if got.used[n] != used[n] {
				t.Errorf("%s, question %d: %d were used, want %d", form.name, n, got.used[n], used[n])
			}
		}
	}
	for n, q := range questions {
		t.Logf("%s: %d units for %d bytes", q.entry, used[n], len(q.input))
		if used[n] < 10 {
			t.Errorf("%s used only %d", q.entry, used[n])
		}
	}
	return trace{answers: original.answers, used: used}
}

func TestBuiltins(t *testing.T) {
	builtins := map[string][]question{
		"openai": {
			golden(t, "openai", "encode", "plinth_provider_encode"), golden(t, "openai", "decode-text", "plinth_provider_decode"),
			golden(t, "openai", "decode-tools", "plinth_provider_decode"), golden(t, "openai", "decode-cut", "plinth_provider_decode"),
			golden(t, "openai", "classify", "plinth_provider_classify"),
		},
		"environment": {golden(t, "environment", "first", "plinth_context_observe"), golden(t, "environment", "changed", "plinth_context_observe")},
		"files": {
			golden(t, "files", "page", "plinth_tool_execute"), golden(t, "files", "directory", "plinth_tool_execute"),
			golden(t, "files", "missing", "plinth_tool_execute"),
		},
	}
	for name, questions := range builtins {
		if raced && !long() && name != "openai" { // there is nothing to race for
			continue
		}
		for _, interpreter := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, interpreter %t", name, interpreter), func(t *testing.T) {
				built := readFile(t, filepath.Join("../../../plugins/builtin/dist", name+".wasm"))
				compareGuests(t, guestForms(t, built, "plinth", "plinth_alloc", interpreter), questions)
			})
		}
	}
}

// TestGuestOfTheGoToolchain is the same for a guest built on the spot. Its
// functions are loops around a br_table, and its scheduler calls indirectly.
func TestGuestOfTheGoToolchain(t *testing.T) {
	if raced && !long() {
		t.Skip("there is nothing to race for, and to compile it takes half a minute: make test and make verify-long run it")
	}
	file := filepath.Join(t.TempDir(), "guest.wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-o", file, "../testdata/guest")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the Go guest: %v\n%s", err, out)
	}
	text := strings.Repeat("some words of a text that is split ", 500)
	questions := []question{
		{entry: "upper", input: []byte("plinth")},
		{entry: "upper", input: []byte(text)},
		{entry: "frames", input: []byte(text)},
		{entry: "frames", input: []byte(strings.Repeat(text+"\n", 5))},
		{entry: "ask", input: []byte("question"), answers: [][]byte{[]byte("answer")}},
		{entry: "crash", input: []byte("a bug in the guest")},
	}
	engines := []bool{false}
	if long() {
		engines = append(engines, true)
	}
	for _, interpreter := range engines {
		t.Run(fmt.Sprintf("interpreter %t", interpreter), func(t *testing.T) {
			forms := guestForms(t, readFile(t, file), "test", "test_alloc", interpreter)
			compareGuests(t, forms, questions)
		})
	}
}

// TestGuestsOfOtherCompilers is the same for guests of LLVM by way of Rust, and of
// Binaryen by way of AssemblyScript: JSON, sorting, hashes, floating point and vectors.
// tests/conformance/guests/build builds them.
func TestGuestsOfOtherCompilers(t *testing.T) {
	languages := []string{"rust", "assemblyscript"}
	if raced && !long() {
		languages = languages[1:]
	}
	for _, language := range languages {
		var compiled trace
		for _, interpreter := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, interpreter %t", language, interpreter), func(t *testing.T) {
				forms := guestForms(t, readFile(t, filepath.Join("testdata", language+".wasm")), "test", "test_alloc", interpreter)
				if raced && !long() {
					forms = forms[:2]
				}
				questions := work()
				got := compareGuests(t, forms, questions)
				if last := got.answers[len(got.answers)-1]; !strings.HasPrefix(last, "failed: ") {
					t.Errorf("a crash answers %q", last)
				}
				if !interpreter {
					compiled = got
					return
				}
				for n, q := range questions {
					if got.answers[n] != compiled.answers[n] || got.used[n] != compiled.used[n] {
						t.Errorf("question %d: %s answers for %d units\n%q, compiled for %d\n%q", n, q.entry, got.used[n], got.answers[n], compiled.used[n], compiled.answers[n])
					}
				}
			})
		}
	}
}

// work is what the guests of other compilers are asked. Both guests answer every
// question, each in its own words.
func work() []question {
	var records, words, numbers strings.Builder
	for i := range 30 {
		if i > 0 {
			records.WriteByte(',')
		}
		fmt.Fprintf(&records, `{"id":"rec_%08x","kind":%q,"text":"line %d of a \"text\"\t🙂 \u00e9 straße","count":%d,"ratio":%g,"done":%t,"labels":["a","ß%d"],"extra":{"path":"/a/%d","n":null}}`,
			i*2654435761, []string{"text", "tool", "note"}[i%3], i, i*1001, float64(i)/7, i%2 == 0, i%17, i)
		fmt.Fprintf(&words, "%x%c ", i*2654435761%1_000_003, 'a'+rune(i%300))
		fmt.Fprintf(&numbers, "%g %g ", float64(i*i)/3-1000, float64(i+1)*1e-300)
	}
	numbers.WriteString("0 -0 1e308 1e999 -1e999 5e-324 2.2250738585072014e-308 9007199254740993 16777217 NaN x")
	list := "[" + records.String() + "]"
	var questions []question
	for _, entry := range []string{"document", "sort", "hash", "floats", "simd"} {
		for _, input := range []string{"", list, words.String(), numbers.String(), list[:len(list)-1]} {
			questions = append(questions, question{entry: entry, input: []byte(input)})
		}
	}
	// The trap comes last: what follows it may be anything.
	return append(questions, question{entry: "crash", input: []byte("a bug in the guest")})
}
