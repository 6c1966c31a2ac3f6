package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Arithmetic in the shell evaluates the text of its variables, and a text like
// a[$(command)] runs the command. So what is calculated must be known to be
// numbers.

// integer is a number in any notation.
var integer = regexp.MustCompile(`^[0-9][0-9A-Za-z#@_]*$`)

const hiddenCommand = "in arithmetic the shell evaluates the text of a variable, which can hold a command"

// arithmetic reports what an expression evaluates beyond numbers.
func (s *scan) arithmetic(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case *syntax.BinaryArithm:
		if x.Op != syntax.Assgn {
			s.arithmetic(x.X)
		}
		s.arithmetic(x.Y)
	case *syntax.UnaryArithm:
		s.arithmetic(x.X)
	case *syntax.ParenArithm:
		s.arithmetic(x.X)
	case *syntax.FlagsArithm:
		s.unknown(UnknownCommand, s.source(x), hiddenCommand)
	case *syntax.Word:
		if x != nil && !s.calculable(x) {
			s.unknown(UnknownCommand, s.source(x), hiddenCommand)
		}
	}
}

// calculable says whether a word in an expression can only be a number.
func (s *scan) calculable(w *syntax.Word) bool {
	if isNumberWord(w) {
		return true
	}
	if len(w.Parts) != 1 {
		return false
	}
	switch part := w.Parts[0].(type) {
	case *syntax.Lit:
		return integer.MatchString(part.Value) || s.isNumeric(part.Value)
	case *syntax.DblQuoted:
		return len(part.Parts) == 1 && s.calculable(&syntax.Word{Parts: part.Parts})
	case *syntax.ParamExp:
		known := part.Param != nil && !part.Excl && part.Exp == nil && part.Repl == nil && part.Names == 0
		return known && s.isNumeric(part.Param.Value)
	}
	return false
}

// setByShell are the variables that the shell puts texts into by itself.
var setByShell = regexp.MustCompile(`^(BASH[^P].*|COMP.*|READLINE.*|REPLY|MAPFILE|OPTARG|PWD|OLDPWD|DIRSTACK|FUNCNAME|_)$`)

// numbersOfShell are the variables that the shell itself keeps numbers in.
var numbersOfShell = regexp.MustCompile(`^(RANDOM|SRANDOM|SECONDS|LINENO|EPOCHSECONDS|UID|EUID|PPID|BASHPID)$`)

// isNumeric says whether a variable never holds anything but a number.
func (s *scan) isNumeric(name string) bool {
	if numbersOfShell.MatchString(name) && !s.shell.changed[name] {
		return true
	}
	return s.shell.numbers[name] && !s.shell.anyNumber && !setByShell.MatchString(name)
}

// parameter reports an expansion that evaluates what the variable holds.
func (s *scan) parameter(p *syntax.ParamExp) {
	switch {
	case p.Excl && p.Names == 0 && !isWholeArray(p.Index):
		s.unknown(UnknownCommand, s.source(p), "it evaluates the name that a variable holds, which can hide a command")
	case p.Exp != nil && p.Exp.Op == syntax.OtherParamOps && p.Exp.Word.Lit() == "P":
		s.unknown(UnknownCommand, s.source(p), "it runs the commands that a variable holds")
	}
	if p.Exp != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull) {
		s.variable(p.Param.Value, false, s.source(p))
	}
	if p.Index != nil && !isWholeArray(p.Index) {
		s.arithmetic(p.Index)
	}
	if p.Slice != nil {
		s.arithmetic(p.Slice.Offset)
		s.arithmetic(p.Slice.Length)
	}
}

func isWholeArray(index syntax.ArithmExpr) bool {
	w, ok := index.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// unaryTest reports [[ -v name ]] of a name that is not written there.
func (s *scan) unaryTest(t *syntax.UnaryTest) {
	if t.Op != syntax.TsVarSet {
		return
	}
	if w, ok := t.X.(*syntax.Word); !ok || !syntax.ValidName(w.Lit()) {
		s.unknown(UnknownCommand, s.source(t), hiddenCommand)
	}
}

// binaryTest reports [[ a -eq b ]] of what is not known to be numbers.
func (s *scan) binaryTest(t *syntax.BinaryTest) {
	switch t.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		for _, side := range []syntax.TestExpr{t.X, t.Y} {
			if w, ok := side.(*syntax.Word); !ok || !s.calculable(w) {
				s.unknown(UnknownCommand, s.source(t), hiddenCommand)
			}
		}
	}
}

// extendedGlob reports a pattern with an expansion in it, which the parser leaves
// as it is written.
func (s *scan) extendedGlob(g *syntax.ExtGlob) {
	if g.Pattern != nil && strings.ContainsAny(g.Pattern.Value, "$`<>") {
		s.unknown(UnknownCommand, s.source(g), "a pattern with an expansion in it is not understood here")
	}
}
