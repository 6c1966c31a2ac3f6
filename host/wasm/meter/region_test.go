package meter

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/host/wasm/binary"
)

// module makes a module of functions of type ()->(), with a memory, a table
// and a passive segment of 100 bytes. Function 0 is imported.
func module(t testing.TB, bodies ...string) *binary.Module {
	t.Helper()
	m := &binary.Module{
		Types:    []binary.FuncType{{}, {Params: []binary.ValueType{binary.I32}, Results: []binary.ValueType{binary.I32}}},
		Tables:   []binary.Table{{Type: binary.Funcref, Range: binary.Range{Min: 1, Max: 2, HasMax: true}}},
		Memories: []binary.Memory{{Range: binary.Range{Min: 1}}},
		Data:     []binary.Data{{Bytes: make([]byte, 100)}},
		Elements: []binary.Element{{Type: binary.Funcref}},
	}
	m.Facts.MemoryInit = true
	m.AddImport(binary.Import{Module: "a", Name: "b"})
	for _, body := range bodies {
		m.Functions = append(m.Functions, 0)
		m.Bodies = append(m.Bodies, binary.Body{
			Locals: []binary.Locals{{Count: 4, Type: binary.I32}}, Code: []byte(body + "\x0b"),
		})
	}
	decoded, err := binary.Decode(m.Encode(), binary.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

// surveyed answers the regions of the first body.
func surveyed(t testing.TB, bodies ...string) regions {
	t.Helper()
	r := newRewriter(module(t, bodies...), Options{})
	r.findExempt()
	body := r.in.Bodies[0]
	r.surveyor.survey(body, body.Instructions(nil))
	return r.surveyor.regions
}

// Fragments of code.
const (
	zero  = "\x41\x00"     // i32.const 0: a step
	step  = "\x20\x00\x1a" // local.get, drop: a step
	loop  = "\x03\x40"
	block = "\x02\x40"
	if_   = "\x04\x40"
	else_ = "\x05"
	end   = "\x0b"
	again = zero + "\x0d\x00" // to the loop around it, 2 steps
)

func steps(n int) string { return strings.Repeat(step, n) }

func TestSteps(t *testing.T) {
	tests := []struct {
		name, body string
		entry      int64
		loops      []int64
	}{
		{"nothing", "", 0, nil},
		{"free ones", "\x01" + block + "\x01" + end + loop + end, 0, []int64{0}},
		{"one after the other", steps(7), 7, nil},
		{"branches are alternatives", zero + if_ + steps(10) + else_ + steps(4) + end + steps(1), 13, nil},
		{"an if without else", zero + if_ + steps(10) + end + steps(1), 13, nil},
		{"a short way does not count", zero + if_ + "\x0f" + end + steps(5), 7, nil},
		{"the way by a branch", block + steps(9) + zero + "\x0d\x00" + steps(3) + end + steps(2), 16, nil},
		{"behind a branch nothing runs", block + steps(2) + "\x0c\x00" + steps(50) + end + steps(1), 4, nil},
		{"behind unreachable nothing runs", steps(2) + "\x00" + steps(50), 3, nil},
		{"behind return nothing runs", steps(2) + "\x0f" + steps(50) + loop + again + end, 3, []int64{2}},
		{"an if that nothing reaches", "\x00" + zero + if_ + steps(5) + else_ + steps(9) + end, 1, nil},
		{"br_table goes to all labels", block + block + steps(3) + zero + "\x0e\x01\x00\x01" + end + steps(20) + end + steps(1), 26, nil},
		{"a loop pays for itself", steps(3) + loop + steps(40) + again + end + steps(5), 8, []int64{42}},
		{"a loop nobody goes back to", steps(3) + loop + steps(40) + end + steps(5), 48, []int64{0}},
		{"a branch out of a loop", block + steps(2) + loop + steps(30) + zero + "\x0d\x01" + again + end + steps(9) + end + steps(1), 12, []int64{34}},
		{"out of two loops", block + steps(2) + loop + steps(5) + loop + steps(30) + zero + "\x0d\x02" + again + end + again + end + end + steps(1), 3, []int64{7, 34}},
		{"an endless loop", steps(2) + loop + steps(3) + "\x0c\x00" + end + steps(90), 2, []int64{4}},
		{"from the inner loop to the outer", loop + steps(4) + loop + steps(9) + zero + "\x0d\x01" + again + end + steps(8) + end, 0, []int64{12, 13}},
		{"division", zero + zero + "\x6d\x1a", 7, nil},
		{"square root", "\x43\x00\x00\x00\x00\x91\x1a", 6, nil},
		{"call", "\x10\x00", 3, nil},
		{"indirect call", zero + "\x11\x00\x00", 4, nil},
		{"memory.grow", zero + "\x40\x00\x1a", 65, nil},
		{"table.grow", "\xd0\x70" + zero + "\xfc\x0f\x00\x1a", 20_002, nil},
		{"table.fill", zero + "\xd0\x70" + zero + "\xfc\x11\x00", 20_003, nil},
		{"table.copy", zero + zero + zero + "\xfc\x0e\x00\x00", 20_003, nil},
		{"table.init", zero + zero + zero + "\xfc\x0c\x00\x00", 20_003, nil},
		{"elem.drop", "\xfc\x0d\x00", 1, nil},
		{"fill of a known size", zero + zero + "\x41\x80\x10" + "\xfc\x0b\x00", 3 + 20 + 2048, nil},
		{"fill of a large known size", zero + zero + "\x41\x81\x20" + "\xfc\x0b\x00", 3 + 64, nil},
		{"copy of an unknown size", zero + zero + "\x20\x00" + "\xfc\x0a\x00\x00", 3 + 64, nil},
		{"init of a small segment", zero + zero + "\x20\x00" + "\xfc\x08\x00\x00", 3 + 20 + 100, nil},
		{"init of a known size", zero + zero + "\x41\x07" + "\xfc\x08\x00\x00", 3 + 20 + 7, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := surveyed(t, test.body)
			if got.entry != test.entry {
				t.Errorf("%d steps, want %d", got.entry, test.entry)
			}
			for i, want := range test.loops {
				if got.steps[i] != want {
					t.Errorf("loop %d: %d steps, want %d", i, got.steps[i], want)
				}
			}
		})
	}
	if weight(0) != 1 || weight(15) != 1 || weight(16) != 2 || weight(20_000) != 1251 {
		t.Error("weights are other ones than Version says")
	}
}

// callers of exempt functions pay for them.
func TestStepsOfCallees(t *testing.T) {
	small := steps(20)
	if got := surveyed(t, "\x10\x02", small).entry; got != 3+20 {
		t.Errorf("a call of an exempt function: %d steps", got)
	}
	if got := surveyed(t, "\x10\x02", "\x10\x03"+small, small).entry; got != 3+23+20 {
		t.Errorf("a call of one that calls one: %d steps", got)
	}
	if got := surveyed(t, "\x10\x02", steps(129)).entry; got != 3 {
		t.Errorf("a call of a long function: %d steps", got)
	}
}

// walk goes through a body at random, from one charge to the next of the same
// region, and counts the steps. Rounds of other loops on the way are gone
// through as well and not counted: they pay for themselves.
type walk struct {
	r      *rewriter
	body   binary.Body
	list   []binary.Instr
	close  []int // by block: its end
	else_  []int // by if: its else
	loops  []int // by loop: its number
	random *rand.Rand
	over   int64 // how far the way between two yields went beyond every
}

func newWalk(r *rewriter, body binary.Body, random *rand.Rand) *walk {
	w := &walk{r: r, body: body, list: body.Instructions(nil), random: random}
	n := len(w.list)
	w.close, w.else_, w.loops = make([]int, n), make([]int, n), make([]int, n)
	var open []int
	loops := 0
	for i, instr := range w.list {
		switch instr.Op {
		case binary.OpBlock, binary.OpIf:
			open = append(open, i)
		case binary.OpLoop:
			w.loops[i] = loops
			loops++
			open = append(open, i)
		case binary.OpElse:
			w.else_[open[len(open)-1]] = i
		case binary.OpEnd:
			if len(open) > 0 {
				w.close[open[len(open)-1]] = i
				open = open[:len(open)-1]
			}
		}
	}
	return w
}

// charged says whether block i is a loop that is charged.
func (w *walk) charged(i int) bool {
	return w.list[i].Op == binary.OpLoop && w.r.surveyor.branched[w.loops[i]]
}

// from walks from instruction i with these blocks open, until the function ends,
// the innermost of the blocks begins a round, or a branch goes to a block that
// is not among them.
func (w *walk) from(i int, open []int) (taken int64) {
	own, since := len(open), int64(0)
	for range 10_000 {
		instr := w.list[i]
		if !slices.ContainsFunc(open[own:], w.charged) {
			cost := w.r.cost(w.list, i)
			if slices.Contains(w.r.surveyor.yields, i) {
				since = 0
			}
			taken += cost
			since += cost
			w.over = max(w.over, since-max(cost, w.r.surveyor.every))
		}
		next := i + 1
		switch instr.Op {
		case binary.OpBlock, binary.OpLoop:
			open = append(open, i)
		case binary.OpIf:
			switch {
			case w.random.IntN(2) == 0:
				open = append(open, i)
			case w.else_[i] == 0:
				next = w.close[i] + 1
			default:
				open = append(open, i)
				next = w.else_[i] + 1
			}
		case binary.OpElse:
			next = w.close[open[len(open)-1]]
		case binary.OpEnd:
			if len(open) == own {
				return taken
			}
			open = open[:len(open)-1]
		case binary.OpReturn, binary.OpUnreachable:
			return taken
		case binary.OpBr, binary.OpBrIf, binary.OpBrTable:
			if instr.Op == binary.OpBrIf && w.random.IntN(2) == 0 {
				break
			}
			at := len(open) - 1 - w.label(instr)
			if at < own {
				return taken
			}
			target := open[at]
			if open = open[:at]; w.list[target].Op == binary.OpLoop {
				next = target // and opens it again
			} else {
				next = w.close[target] + 1
			}
		}
		i = next
	}
	return taken
}

// label is where a branch goes.
func (w *walk) label(instr binary.Instr) int {
	if instr.Op != binary.OpBrTable {
		return int(instr.X)
	}
	labels := w.body.Labels(instr, nil)
	return int(labels[w.random.IntN(len(labels))])
}

// TestChargeBoundsWhatRuns walks random bodies at random: no walk from one
// charge to the next takes more steps than were charged at its beginning, for most
// some walk takes them all, and on none two yields are further apart than they may be.
func TestChargeBoundsWhatRuns(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	walks, exact, yields := 0, 0, 0
	for range 400 {
		m := module(t, randomBody(random))
		r := newRewriter(m, Options{})
		r.findExempt()
		r.surveyor.every = 1 + random.Int64N(30)
		body := m.Bodies[0]
		w := newWalk(r, body, random)
		r.surveyor.survey(body, w.list)
		most := int64(0)
		for range 200 {
			got := w.from(0, nil)
			most = max(most, got)
			if walks++; got > r.surveyor.entry {
				t.Fatalf("%d steps from the entry, %d are charged, in % x", got, r.surveyor.entry, body.Code)
			}
		}
		if most == r.surveyor.entry {
			exact++
		}
		yields += len(r.surveyor.yields)
		var open []int
		for i, instr := range w.list {
			switch instr.Op {
			case binary.OpBlock, binary.OpIf:
				open = append(open, i)
			case binary.OpLoop:
				open = append(open, i)
				if number := w.loops[i]; r.surveyor.branched[number] {
					for range 50 {
						got := w.from(i+1, open)
						if walks++; got > r.surveyor.steps[number] {
							t.Fatalf("%d steps in loop %d, %d are charged, in % x", got, number, r.surveyor.steps[number], body.Code)
						}
					}
				}
			case binary.OpEnd:
				if len(open) > 0 {
					open = open[:len(open)-1]
				}
			}
		}
		if w.over > 0 {
			t.Fatalf("a way goes %d steps beyond %d without a yield, in % x", w.over, r.surveyor.every, body.Code)
		}
	}
	if yields < 400 {
		t.Errorf("only %d yields in 400 bodies", yields)
	}
	if exact < 200 {
		t.Errorf("only %d of 400 entries are charged what some walk takes", exact)
	}
	t.Logf("%d walks, %d of 400 entries exact, %d yields", walks, exact, yields)
}

// randomBody makes nested blocks, loops and ifs with branches to any label.
func randomBody(random *rand.Rand) string {
	var text strings.Builder
	left := 60
	var make func(depth int)
	make = func(depth int) {
		for range 1 + random.IntN(4) {
			if left--; left < 0 {
				return
			}
			switch random.IntN(9) {
			case 0, 1:
				text.WriteString(steps(random.IntN(12)))
			case 2:
				text.WriteString(block)
				make(depth + 1)
				text.WriteString(end)
			case 3:
				text.WriteString(loop)
				make(depth + 1)
				text.WriteString(end)
			case 4:
				text.WriteString(zero + if_)
				make(depth + 1)
				if random.IntN(2) == 0 {
					text.WriteString(else_)
					make(depth + 1)
				}
				text.WriteString(end)
			case 5, 6:
				text.WriteString(zero + "\x0d" + string(rune(random.IntN(depth+1))))
			case 7:
				text.WriteString(zero + "\x0e\x01" + string(rune(random.IntN(depth+1))) + string(rune(random.IntN(depth+1))))
			case 8:
				if random.IntN(3) == 0 {
					text.WriteString("\x0c" + string(rune(random.IntN(depth+1))))
				}
			}
		}
	}
	make(0)
	return text.String()
}
