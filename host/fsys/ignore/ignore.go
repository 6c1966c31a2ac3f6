// Package ignore answers what git's ignore files leave out. It reads lines and
// compares names; which files there are, and which stands above which, is the
// caller's to know.
//
//	rules := ignore.Parse([]byte("*.log\n!keep.log\n/build/\n"))
//	rules.Match("sub/a.log", false)    // Ignored
//	rules.Match("sub/keep.log", false) // Kept
//	rules.Match("build", true)         // Ignored
//	rules.Match("build/a.go", false)   // Unknown: nobody should have entered build
//
// An ignore file is a convenience and never a permission.
package ignore

import (
	"bytes"
	"strings"
)

// Verdict is what an ignore file says of a path.
type Verdict int

// The verdicts.
const (
	Unknown Verdict = iota // no line is about it
	Ignored
	Kept // a line beginning with "!" takes it back in
)

// MaxSize is the largest ignore file worth reading, in bytes.
const MaxSize = 1 << 20

// Rules are the lines of one ignore file. The zero value has none.
type Rules struct{ rules []rule }

// rule is one line. What comes before its first wildcard is compared as it is.
type rule struct {
	keep      bool // it began with "!"
	directory bool // it ended in "/"
	name      bool // it has no "/" elsewhere and is compared with the last name
	literal   string
	suffix    string  // of a name like "*.log"
	wild      []token // nil: the literal is all
}

// Parse reads an ignore file. Lines that git would never match are dropped.
func Parse(data []byte) Rules {
	var r Rules
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		if parsed, ok := parseLine(trimSpaces(string(line))); ok {
			r.rules = append(r.rules, parsed)
		}
	}
	return r
}

// trimSpaces removes the spaces at the end that no backslash protects.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = i + 1
	}
	return line[:min(end, len(line))]
}

func parseLine(line string) (rule, bool) {
	var r rule
	line, r.keep = strings.CutPrefix(line, "!")
	line, r.directory = strings.CutSuffix(line, "/")
	r.name = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return rule{}, false
	}
	first := strings.IndexAny(line, `*?[\`)
	if first < 0 {
		r.literal = line
		return r, true
	}
	r.literal = line[:first]
	if r.name && line[0] == '*' && !strings.ContainsAny(line[1:], `*?[\`) {
		r.suffix = line[1:]
	}
	wild, ok := parseWild(line[first:], !r.name)
	r.wild = wild
	return r, ok
}

// Match answers what the file says of path, which is relative to the folder that
// the file stands in, with slashes. The last line that is about it decides.
func (r Rules) Match(path string, directory bool) Verdict {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for i := len(r.rules) - 1; i >= 0; i-- {
		rule := &r.rules[i]
		if rule.directory && !directory {
			continue
		}
		text := path
		if rule.name {
			text = name
		}
		if !rule.match(text) {
			continue
		}
		if rule.keep {
			return Kept
		}
		return Ignored
	}
	return Unknown
}

func (r *rule) match(text string) bool {
	if r.wild == nil {
		return text == r.literal
	}
	if r.suffix != "" {
		return strings.HasSuffix(text, r.suffix)
	}
	rest, ok := strings.CutPrefix(text, r.literal)
	return ok && matchWild(r.wild, rest)
}
