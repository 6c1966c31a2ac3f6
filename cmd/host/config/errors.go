package config

import (
	"fmt"
	"regexp"
	"strings"
)

// Error is everything that is wrong with a configuration.
type Error struct {
	Problems []Problem
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, problem := range e.Problems {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// Problem is one thing that is wrong.
type Problem struct {
	Source string // a file's path, a variable "PLINTH_MODEL", a flag "--model"; empty for a default
	Line   int    // in the file, from 1; 0 when there is none
	Key    string // "runner.max_turns"
	Value  string // as given; empty when it does not matter
	Text   string // what is wrong and what is allowed
}

// String is like: config.toml:3: model = "gpt": must be …
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Source)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(p.Key)
	if p.Value != "" {
		fmt.Fprintf(&b, " = %s", p.Value)
	}
	if p.Key != "" {
		b.WriteString(": ")
	}
	return b.String() + p.Text
}

// Mistake answers an error for a value that turns out to be wrong after loading, with
// the place where the key, given in its parts, or the table around it was set.
func (c Config) Mistake(text string, key ...string) *Error {
	at := c.origins.at(join(key...))
	return &Error{Problems: []Problem{{Source: at.source, Line: at.line, Key: display(join(key...)), Text: text}}}
}

// origin is where a value was set.
type origin struct {
	source string
	line   int
}

// origins are by key.
type origins map[string]origin

// problem records that value, set at key, is wrong.
func (l *loader) problem(key string, value any, format string, args ...any) {
	shown := ""
	if value != nil {
		shown = fmt.Sprintf("%#v", value)
	}
	at := l.origins.at(key)
	l.problems = append(l.problems, Problem{Source: at.source, Line: at.line, Key: display(key), Value: shown, Text: fmt.Sprintf(format, args...)})
}

// at answers where key was set, or the nearest table around it.
func (o origins) at(key string) origin {
	for {
		if at, ok := o[key]; ok {
			return at
		}
		end := strings.LastIndex(key, separator)
		if end < 0 {
			return origin{}
		}
		key = key[:end]
	}
}

// separator stands between the parts of a key; no part has it.
const separator = "\x00"

// join makes a key of its parts.
func join(parts ...string) string { return strings.Join(parts, separator) }

// bare is a part of a key that TOML takes without quotes, or an array's index.
var bare = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// display writes a key as it is written in TOML; a number is an array's index.
func display(key string) string {
	if key == "" {
		return ""
	}
	parts := strings.Split(key, separator)
	for i, part := range parts {
		if !bare.MatchString(part) {
			parts[i] = fmt.Sprintf("%q", part)
		}
	}
	return strings.Join(parts, ".")
}
