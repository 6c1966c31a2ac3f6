package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
)

// settings are the operator's.
type settings struct {
	// Without are kinds that are not looked for.
	Without []string `json:"without"`
	// Patterns are the operator's own.
	Patterns []pattern `json:"patterns"`
}

type pattern struct {
	Kind    string `json:"kind"`
	Pattern string `json:"pattern"` // a regular expression of Go
}

// Bounds of an operator's patterns. One begins with letters that stand for themselves,
// because only where these are is an expression run: over a whole history it would take
// longer than a transform may.
const (
	maxPatterns = 50
	minLiteral  = 3
	maxMatch    = 4096 // bytes of a match
)

// own is an operator's pattern.
type own struct {
	kind, literal string
	expression    *regexp.Regexp // from the place on where literal is
}

func newOwn(i int, p pattern) (own, error) {
	refuse := func(format string, args ...any) (own, error) {
		return own{}, plinth.Errorf(abi.KindInvalidInput, "patterns[%d]"+format, append([]any{i}, args...)...)
	}
	if !word(p.Kind) {
		return refuse(".kind is %q; write small letters, digits and hyphens, at most 32", p.Kind)
	}
	plain, err := regexp.Compile(p.Pattern)
	if err != nil {
		return refuse(".pattern: %v", err)
	}
	literal, _ := plain.LiteralPrefix()
	if len(literal) < minLiteral {
		return refuse(".pattern is %q, which begins with %d characters that stand for themselves; it must begin with at least %d, like EMP-[0-9]{6}",
			p.Pattern, len(literal), minLiteral)
	}
	expression, err := regexp.Compile("^(?:" + p.Pattern + ")")
	if err != nil {
		return refuse(".pattern: %v", err)
	}
	return own{kind: p.Kind, literal: literal, expression: expression}, nil
}

// at answers the length of the match that begins text, 0 for none.
func (o own) at(text string) int {
	if !strings.HasPrefix(text, o.literal) {
		return 0
	}
	found := o.expression.FindStringIndex(text[:min(len(text), maxMatch)])
	if found == nil {
		return 0
	}
	return found[1]
}

// word reports whether a kind can be named so.
func word(kind string) bool {
	for i := range len(kind) {
		if c := kind[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return kind != "" && len(kind) <= 32
}

func newSearch(s settings) (*search, error) {
	known := kinds()
	for i, kind := range s.Without {
		if !slices.Contains(known, kind) {
			return nil, plinth.Errorf(abi.KindInvalidInput, "without[%d] is %q; there are %s", i, kind, strings.Join(known, ", "))
		}
	}
	if len(s.Patterns) > maxPatterns {
		return nil, plinth.Errorf(abi.KindInvalidInput, "patterns has %d entries, the limit is %d", len(s.Patterns), maxPatterns)
	}
	made := &search{}
	for _, shape := range shapes() {
		if !slices.Contains(s.Without, shape.kind) {
			made.add(shape.begins, matcher{kind: shape.kind, bounded: shape.bounded, at: shape.at})
		}
	}
	for i, p := range s.Patterns {
		one, err := newOwn(i, p)
		if err != nil {
			return nil, err
		}
		made.add(one.literal, matcher{kind: one.kind, at: func(text string) (int, int) { return 0, one.at(text) }})
	}
	return made, nil
}
