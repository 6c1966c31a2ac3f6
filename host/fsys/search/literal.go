package search

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// wholeLiteral answers the bytes that tree stands for when it stands for nothing
// else.
func wholeLiteral(tree *syntax.Regexp) ([]byte, bool) {
	for tree.Op == syntax.OpCapture {
		tree = tree.Sub[0]
	}
	if tree.Op != syntax.OpLiteral || tree.Flags&syntax.FoldCase != 0 {
		return nil, false
	}
	// The replacement character also stands for bytes that are no UTF-8.
	if slices.Contains(tree.Rune, utf8.RuneError) {
		return nil, false
	}
	return []byte(string(tree.Rune)), true
}

// required answers the longest literal that every match of tree holds, nil when
// none is known.
func required(tree *syntax.Regexp) []byte {
	switch tree.Op {
	case syntax.OpLiteral:
		text, _ := wholeLiteral(tree)
		return text
	case syntax.OpCapture, syntax.OpPlus:
		return required(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return required(tree.Sub[0])
		}
	case syntax.OpConcat:
		return requiredOfAll(tree.Sub)
	}
	return nil
}

// requiredOfAll joins the literals that follow each other.
func requiredOfAll(parts []*syntax.Regexp) []byte {
	var best, run []byte
	for _, part := range parts {
		if text, ok := wholeLiteral(part); ok {
			run = append(run, text...)
		} else {
			run = nil
			if text := required(part); len(text) > len(best) {
				best = text
			}
		}
		if len(run) > len(best) {
			best = slices.Clone(run)
		}
	}
	return best
}
