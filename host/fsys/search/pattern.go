// Package search finds the lines that a pattern matches, at the speed of the
// machine. It knows bytes and lines; files, folders and permissions are the
// caller's.
//
// Three stages narrow the text down, each exact about what it throws away: a
// literal that every match must hold, an automaton that reads each byte once, and
// package regexp, which has the last word.
package search

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// MaxPattern is the longest pattern, in bytes.
	MaxPattern = 4096
	// maxProgram bounds what repetitions make of a short pattern.
	maxProgram = 10_000
	// minLiteral is the length from which looking for a literal first is worth it.
	minLiteral = 3
)

// Options say how a pattern is to be read.
type Options struct {
	Literal    bool // the pattern is text, not a regular expression
	IgnoreCase bool // by Unicode's simple folding
}

// Pattern is a compiled pattern. It does not change and may be shared.
type Pattern struct {
	literal *needle // every match holds it; nil when there is none worth looking for
	exact   bool    // the literal is the pattern
	regexp  *regexp.Regexp
	program *program
}

// Compile reads a pattern in the syntax of RE2. Each line is a text of its own: ^
// and $ stand at its ends, $ also before a carriage return, and nothing matches a
// line break. The error says what is wrong with the pattern.
func Compile(pattern string, options Options) (*Pattern, error) {
	switch {
	case pattern == "":
		return nil, errors.New("the pattern is empty")
	case len(pattern) > MaxPattern:
		return nil, fmt.Errorf("the pattern has %d bytes, more than %d", len(pattern), MaxPattern)
	case !utf8.ValidString(pattern):
		return nil, errors.New("the pattern is not valid UTF-8")
	}
	if options.Literal {
		if strings.Contains(pattern, "\n") {
			return nil, errLineBreak
		}
		if !options.IgnoreCase {
			return &Pattern{literal: newNeedle([]byte(pattern)), exact: true}, nil
		}
		pattern = regexp.QuoteMeta(pattern)
	}
	flags := syntax.PerlX | syntax.UnicodeGroups
	if options.IgnoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, explain(err)
	}
	if err := withinLine(tree); err != nil {
		return nil, err
	}
	return compile(tree)
}

func compile(tree *syntax.Regexp) (*Pattern, error) {
	p := &Pattern{}
	if text, ok := wholeLiteral(tree); ok {
		p.literal, p.exact = newNeedle(text), true
		return p, nil
	}
	if text := required(tree); len(text) >= minLiteral {
		p.literal = newNeedle(text)
	}
	compiled, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, explain(err)
	}
	if len(compiled.Inst) > maxProgram {
		return nil, fmt.Errorf("the pattern stands for %d steps, more than %d; use fewer or smaller repetitions", len(compiled.Inst), maxProgram)
	}
	if p.regexp, err = regexp.Compile(tree.String()); err != nil {
		return nil, explain(err)
	}
	p.program = newProgram(compiled)
	return p, nil
}

var errLineBreak = errors.New("the pattern holds a line break; lines are searched one by one")

// explain says which part of the pattern is wrong.
func explain(err error) error {
	failed, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return err
	}
	if failed.Code == syntax.ErrInvalidPerlOp || strings.HasPrefix(failed.Expr, "(?<") {
		return fmt.Errorf("%s: %q; the syntax is that of RE2, without look-around and back-references", failed.Code, failed.Expr)
	}
	return fmt.Errorf("%s: %q", failed.Code, failed.Expr)
}

// withinLine rewrites a tree so that it matches within a line: the ends of the
// text become those of the line, and no class holds the line break.
func withinLine(tree *syntax.Regexp) error {
	for _, sub := range tree.Sub {
		if err := withinLine(sub); err != nil {
			return err
		}
	}
	switch tree.Op {
	case syntax.OpLiteral:
		if slices.Contains(tree.Rune, '\n') {
			return errLineBreak
		}
	case syntax.OpAnyChar:
		tree.Op = syntax.OpAnyCharNotNL
	case syntax.OpCharClass:
		tree.Rune = withoutLineBreak(tree.Rune)
		if len(tree.Rune) == 0 {
			return errLineBreak
		}
	case syntax.OpBeginText:
		tree.Op = syntax.OpBeginLine
	case syntax.OpEndText, syntax.OpEndLine:
		end := &syntax.Regexp{Op: syntax.OpEndLine}
		carriage := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{'\r'}}
		*tree = syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{
			{Op: syntax.OpQuest, Sub: []*syntax.Regexp{carriage}}, end,
		}}
	}
	return nil
}

// withoutLineBreak takes the line break out of pairs of first and last rune.
func withoutLineBreak(pairs []rune) []rune {
	kept := make([]rune, 0, len(pairs)+2)
	for i := 0; i < len(pairs); i += 2 {
		first, last := pairs[i], pairs[i+1]
		if first > '\n' || last < '\n' {
			kept = append(kept, first, last)
			continue
		}
		if first < '\n' {
			kept = append(kept, first, '\n'-1)
		}
		if last > '\n' {
			kept = append(kept, '\n'+1, last)
		}
	}
	return kept
}
