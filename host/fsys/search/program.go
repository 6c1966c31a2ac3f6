package search

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// program is a compiled pattern over classes of runes: two runes that no step of
// it tells apart are one class. It does not change and is shared.
type program struct {
	steps []syntax.Inst
	start uint32
	// bounds are the first runes of the classes, ascending; class i reaches to
	// the rune before bounds[i+1].
	bounds []rune
	ascii  [utf8.RuneSelf]uint16
	broken uint16 // the class of the line break
}

func newProgram(compiled *syntax.Prog) *program {
	p := &program{steps: compiled.Inst, start: uint32(compiled.Start)}
	bounds := []rune{0, '\n', '\n' + 1}
	for i := range p.steps {
		bounds = appendBounds(bounds, &p.steps[i])
	}
	slices.Sort(bounds)
	p.bounds = slices.Compact(bounds)
	for r := range rune(utf8.RuneSelf) {
		p.ascii[r] = p.classOf(r)
	}
	p.broken = p.ascii['\n']
	return p
}

// appendBounds adds where a step begins and ceases to match.
func appendBounds(bounds []rune, step *syntax.Inst) []rune {
	switch step.Op {
	case syntax.InstRune, syntax.InstRune1:
		runes := step.Rune
		if len(runes) == 1 {
			bounds = append(bounds, runes[0], runes[0]+1)
			if syntax.Flags(step.Arg)&syntax.FoldCase != 0 {
				for r := unicode.SimpleFold(runes[0]); r != runes[0]; r = unicode.SimpleFold(r) {
					bounds = append(bounds, r, r+1)
				}
			}
			return bounds
		}
		for i := 0; i+1 < len(runes); i += 2 {
			bounds = append(bounds, runes[i], runes[i+1]+1)
		}
	}
	return bounds
}

func (p *program) classOf(r rune) uint16 {
	i, found := slices.BinarySearch(p.bounds, r)
	if !found {
		i--
	}
	return uint16(i)
}

// set is what can happen next: the steps that wait for a rune or for the end of
// the line, ascending.
type set struct {
	steps   []uint32
	seen    []bool // by step
	stack   []uint32
	matches bool // one way has come to its end
}

func newSet(p *program) *set { return &set{seen: make([]bool, len(p.steps))} }

func (s *set) clear() {
	clear(s.seen)
	s.steps, s.matches = s.steps[:0], false
}

// add follows every way from a step that takes no rune. The beginning of the line
// counts as passed when begins says so, its end when ends does; boundaries of
// words always, which package regexp puts right.
func (s *set) add(p *program, step uint32, begins, ends bool) {
	s.stack = append(s.stack[:0], step)
	for len(s.stack) > 0 {
		step := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		if s.seen[step] {
			continue
		}
		s.seen[step] = true
		switch inst := &p.steps[step]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			s.stack = append(s.stack, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			s.stack = append(s.stack, inst.Out)
		case syntax.InstEmptyWidth:
			switch empty := syntax.EmptyOp(inst.Arg); {
			case empty == syntax.EmptyBeginLine && !begins:
			case empty == syntax.EmptyEndLine && !ends:
				s.steps = append(s.steps, step)
			default:
				s.stack = append(s.stack, inst.Out)
			}
		case syntax.InstMatch:
			s.matches = true
		case syntax.InstFail:
		default:
			s.steps = append(s.steps, step)
		}
	}
}
