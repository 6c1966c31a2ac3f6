package search

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

const (
	// maxCells bounds the table of an automaton; a full one begins anew.
	maxCells = 1 << 20
	// maxWork bounds the steps spent on building tables, for patterns that need
	// new states all the time.
	maxWork = 1 << 24

	unknown = -1 // not built yet
	matched = -2 // the line matches
	begin   = 0  // the place of the state at the beginning of a line
)

// automaton reads each byte once and knows from then on whether the line has
// matched. Its table is built as the text asks for it, so each goroutine has one
// of its own. It may take a line that does not match, never refuse one that does.
type automaton struct {
	*program
	classes int
	table   []int32 // by place and class: the next place, unknown or matched
	states  [][]uint32
	places  map[string]int
	resets  int
	work    int
	idle    bool // it can tell nothing: every line may match

	// Most text leads from the quiet state, where nothing has begun, back to it.
	quiet int
	stays [256]bool // by byte: known to lead there

	set *set
	key []byte
}

func newAutomaton(p *program) *automaton {
	a := &automaton{program: p, classes: len(p.bounds), places: make(map[string]int), set: newSet(p)}
	a.set.add(p, p.start, true, false)
	a.idle = a.place() == matched
	a.set.clear()
	a.set.add(p, p.start, false, false)
	a.quiet = a.place()
	return a
}

// find answers where in text, which begins with a line, it is known that a line
// matches: a place in that line or its end. -1 when no line does.
func (a *automaton) find(text []byte) int {
	switch {
	case len(text) == 0:
		return -1
	case a.idle:
		return 0
	}
	place := begin
	for i := 0; ; {
		i, place = a.run(text, i, place)
		if i == len(text) {
			break
		}
		class, width := uint16(0), 1
		if c := text[i]; c < utf8.RuneSelf {
			class = a.ascii[c]
		} else {
			r, n := utf8.DecodeRune(text[i:])
			class, width = a.classOf(r), n
		}
		next := int(a.table[place+int(class)])
		if next == unknown {
			next = a.build(place, class)
		}
		if next == matched {
			return i
		}
		place = next
		i += width
	}
	if text[len(text)-1] != '\n' && a.build(place, a.broken) == matched {
		return len(text)
	}
	return -1
}

// run goes on over ASCII as far as the table is built and nothing matches.
func (a *automaton) run(text []byte, i, place int) (int, int) {
	table, ascii := a.table, &a.ascii
	for ; i < len(text); i++ {
		if place == a.quiet {
			for i < len(text) && a.stays[text[i]] {
				i++
			}
			if i == len(text) {
				break
			}
		}
		c := text[i]
		if c >= utf8.RuneSelf {
			break
		}
		next := int(table[place+int(ascii[c])])
		if next < 0 {
			break
		}
		place = next
	}
	return i, place
}

// build finds what follows the state at a place on a class.
func (a *automaton) build(place int, class uint16) int {
	waiting := a.states[place/a.classes]
	if a.work += len(waiting) + 1; a.work > maxWork {
		a.idle = true
		return matched
	}
	resets := a.resets
	a.set.clear()
	next := begin
	if class == a.broken {
		if a.ends(waiting) {
			next = matched
		}
	} else {
		a.step(waiting, a.bounds[class])
		next = a.place()
	}
	if resets == a.resets {
		a.table[place+int(class)] = int32(next)
	}
	if place == a.quiet && next == a.quiet {
		for c, is := range a.ascii {
			a.stays[c] = a.stays[c] || is == class
		}
	}
	return next
}

// step makes the set of what follows on a rune; a match may also begin after it.
func (a *automaton) step(waiting []uint32, r rune) {
	for _, step := range waiting {
		if inst := &a.steps[step]; inst.Op != syntax.InstEmptyWidth && inst.MatchRune(r) {
			a.set.add(a.program, inst.Out, false, false)
		}
	}
	a.set.add(a.program, a.start, false, false)
}

// ends reports whether a way that waits for the end of the line is through there.
func (a *automaton) ends(waiting []uint32) bool {
	for _, step := range waiting {
		if inst := &a.steps[step]; inst.Op == syntax.InstEmptyWidth {
			a.set.add(a.program, inst.Out, true, true)
		}
	}
	return a.set.matches
}

// place answers where the state of the set stands in the table.
func (a *automaton) place() int {
	if a.set.matches {
		return matched
	}
	slices.Sort(a.set.steps)
	a.key = a.key[:0]
	for _, step := range a.set.steps {
		a.key = binary.LittleEndian.AppendUint32(a.key, step)
	}
	if place, ok := a.places[string(a.key)]; ok {
		return place
	}
	if len(a.table) >= maxCells {
		a.reset()
	}
	place := len(a.table)
	a.places[string(a.key)] = place
	a.states = append(a.states, slices.Clone(a.set.steps))
	for range a.classes {
		a.table = append(a.table, unknown)
	}
	return place
}

// reset forgets every state but the first two: the one at the beginning of a line
// and the quiet one, which may be the same.
func (a *automaton) reset() {
	a.resets++
	kept := a.quiet/a.classes + 1
	a.states, a.table = a.states[:kept], a.table[:kept*a.classes]
	for i := range a.table {
		a.table[i] = unknown
	}
	for key, place := range a.places {
		if place >= len(a.table) {
			delete(a.places, key)
		}
	}
}
