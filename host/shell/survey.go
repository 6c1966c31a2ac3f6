package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// survey looks over a whole text for what holds in all of it: order says little
// where there are loops, functions and traps.
func (s *scan) survey(file *syntax.File) {
	syntax.Walk(file, func(node syntax.Node) bool {
		if f, ok := node.(*syntax.FuncDecl); ok && f.Name != nil {
			s.shell.functions[f.Name.Value] = true
		}
		return true
	})
	s.surveyMoves(file)
	s.surveyNumbers(file)
}

// surveyMoves finds out whether a loop or a function may change the directory.
func (s *scan) surveyMoves(file *syntax.File) {
	var open []syntax.Node
	loops, functions := 0, 0
	count := func(node syntax.Node, by int) {
		switch node.(type) {
		case *syntax.ForClause, *syntax.WhileClause:
			loops += by
		case *syntax.FuncDecl:
			functions += by
		}
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		if node == nil {
			count(open[len(open)-1], -1)
			open = open[:len(open)-1]
			return true
		}
		open = append(open, node)
		count(node, 1)
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 && s.mayMove(call.Args[0]) {
			s.shell.changed["PWD"] = true
			s.shell.loopsMove = s.shell.loopsMove || loops > 0
			s.shell.functionsMove = s.shell.functionsMove || functions > 0
		}
		return true
	})
}

// mayMove says whether a command of that name may change the shell's directory.
func (s *scan) mayMove(program *syntax.Word) bool {
	name := s.word(program)
	movers := []string{"cd", "pushd", "popd", "eval", "source", ".", "command", "builtin", "trap"}
	return !name.static || slices.Contains(movers, name.text) || s.shell.functions[name.text]
}

// surveyNumbers finds the variables that never hold anything but a number, and
// those that are changed at all.
func (s *scan) surveyNumbers(file *syntax.File) {
	note := func(name string, number bool) {
		before, seen := s.shell.numbers[name]
		s.shell.numbers[name] = number && (before || !seen)
		s.shell.changed[name] = true
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Assign:
			if n.Name != nil && !n.Naked {
				note(n.Name.Value, s.isNumber(n))
			}
		case *syntax.WordIter:
			note(n.Name.Value, n.InPos.IsValid() && allNumbers(n.Items))
		case *syntax.ForClause:
			if n.Select {
				note("REPLY", false)
			}
		case *syntax.BinaryArithm:
			if target, ok := n.X.(*syntax.Word); ok && n.Op == syntax.Assgn {
				note(target.Lit(), true)
			} else if ok && strings.HasSuffix(n.Op.String(), "=") {
				s.shell.changed[target.Lit()] = true
			}
		case *syntax.UnaryArithm:
			if target, ok := n.X.(*syntax.Word); ok {
				s.shell.changed[target.Lit()] = true
			}
		case *syntax.ParamExp:
			if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) && n.Param != nil {
				note(n.Param.Value, false)
			}
		case *syntax.CallExpr:
			s.surveyNames(n.Args, note)
		case *syntax.DeclClause:
			for _, argument := range n.Args {
				if argument.Naked && argument.Name == nil {
					s.surveyNames([]*syntax.Word{argument.Value}, note)
				}
			}
		}
		return true
	})
}

// surveyNames takes every word of a command for a variable that it may set:
// "read -ra x", "printf -vx", "export x=1".
func (s *scan) surveyNames(words []*syntax.Word, note func(string, bool)) {
	for i, w := range words {
		argument := s.word(w)
		if !argument.static && i == 0 || slices.Contains([]string{"eval", "source", ".", "declare", "typeset", "local", "-n"}, argument.text) {
			s.shell.anyNumber = true
		}
		name, _, _ := strings.Cut(argument.text, "=")
		name, _, _ = strings.Cut(name, "[")
		options := strings.HasPrefix(name, "-")
		for name = strings.TrimLeft(name, "-"); syntax.ValidName(name); name = name[1:] {
			note(name, false)
			if !options || len(name) > 64 {
				break
			}
		}
	}
}

// isNumber says whether an assignment gives a variable a number.
func (s *scan) isNumber(a *syntax.Assign) bool {
	if a.Array == nil {
		return a.Value == nil || allNumbers([]*syntax.Word{a.Value})
	}
	return !slices.ContainsFunc(a.Array.Elems, func(e *syntax.ArrayElem) bool {
		return e.Value != nil && !allNumbers([]*syntax.Word{e.Value})
	})
}

// allNumbers says whether every word is a number, or becomes one.
func allNumbers(words []*syntax.Word) bool {
	return !slices.ContainsFunc(words, func(w *syntax.Word) bool { return !isNumberWord(w) })
}

func isNumberWord(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	switch part := w.Parts[0].(type) {
	case *syntax.Lit:
		return isDigits(strings.NewReplacer("{", "", "}", "", ".", "", "-", "").Replace(part.Value))
	case *syntax.SglQuoted:
		return isDigits(part.Value)
	case *syntax.DblQuoted:
		return len(part.Parts) == 1 && isNumberWord(&syntax.Word{Parts: part.Parts})
	case *syntax.ArithmExp:
		return true
	case *syntax.ParamExp:
		return part.Length || part.Param != nil && slices.Contains([]string{"#", "?", "$", "!"}, part.Param.Value)
	}
	return false
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
