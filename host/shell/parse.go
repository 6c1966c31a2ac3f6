package shell

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// maxText is the longest text that is looked at, in bytes.
	maxText = 64 << 10
	// maxBrackets bounds what the parser recurses on: a level takes kilobytes of stack.
	maxBrackets = 4096
	// maxNesting bounds the texts inside texts: bash -c "bash -c …".
	maxNesting = 6
	// maxCommands bounds the commands of a line.
	maxCommands = 512
	// maxWords bounds the words that braces make of one.
	maxWords = 256
	// maxBraces bounds the braces in one word, which multiply.
	maxBraces = 16
	// maxPaths bounds the paths of a line.
	maxPaths = 2048
	// maxExcerpt is what an Unknown shows, in bytes.
	maxExcerpt = 200
)

// Parse tells what text does when the shell of the options runs it. It never
// fails: what it cannot tell stands in Line.Unknown.
func Parse(text string, options Options) *Line {
	s := &scan{options: options, line: &Line{}, shell: newProcess()}
	s.nested(text, options.Shell, at(options.Directory))
	if len(s.line.Commands) >= maxCommands {
		s.unknown(UnknownText, text, fmt.Sprintf("it has more than %d commands; run it in parts", maxCommands-1))
	}
	return s.line
}

// scan is the walk over one text. The texts inside it have scans of their own,
// which write to the same line.
type scan struct {
	options Options
	line    *Line
	text    string
	posix   bool // read it as a plain POSIX shell would
	// backquoted: the walk is inside `…`, where positions are not those of the text.
	backquoted bool
	// reprinted: the walk is in a substitution of more than one plain command, which
	// bash prints from its tree and reads anew; with a here-document in it, wrongly:
	// "a <<E && (b; c)" becomes "b c".
	reprinted bool
	depth     int
	shell     *process
}

// process is what a text shares with the texts that the same shell evaluates.
type process struct {
	functions     map[string]bool
	functionsMove bool            // a function or a trap may change the directory
	loopsMove     bool            // a loop may
	numbers       map[string]bool // variables by whether they only ever hold numbers
	anyNumber     bool            // a name may be set that the text does not show
	changed       map[string]bool // variables that are assigned anywhere
}

func newProcess() *process {
	return &process{functions: map[string]bool{}, numbers: map[string]bool{}, changed: map[string]bool{}}
}

// child is a shell that this one starts: it finds the same variables.
func (p *process) child() *process {
	child := newProcess()
	maps.Copy(child.changed, p.changed)
	return child
}

// nested looks at a text that a new shell runs.
func (s *scan) nested(text, program string, in places) after {
	inner := *s
	inner.posix = false
	inner.shell = s.shell.child()
	if in.unknown || len(in.known) != 1 || in.known[0] != s.options.Directory {
		inner.shell.changed["PWD"] = true
	}
	switch path.Base(program) {
	case "bash", ".":
		inner.evaluate(text, in)
	case "sh", "dash", "ash":
		s.either(inner, text, in)
	default:
		s.unknown(UnknownCommand, text, fmt.Sprintf("only bash and sh are understood here, not %s", path.Base(program)))
	}
	return stay(in)
}

// either looks at a text that bash or a plainer shell may run, and takes it for
// known only when it is the same to both.
func (s *scan) either(bash scan, text string, in places) {
	plain := bash
	plain.posix = true
	plain.shell = bash.shell.child()
	plain.line = &Line{}
	from := len(s.line.Commands)
	bash.evaluate(text, in)
	plain.evaluate(text, in)
	same := slices.EqualFunc(s.line.Commands[from:], plain.line.Commands, func(a, b Command) bool { return a.Text == b.Text })
	if !same && len(s.line.Commands) < maxCommands {
		s.unknown(UnknownText, text, "sh may be bash or a plainer shell here, and they read it differently; run it with bash")
		s.line.Commands = append(s.line.Commands, plain.line.Commands...)
	}
	for _, found := range plain.line.Paths {
		s.path(found.Path, found.Access)
	}
	for _, found := range plain.line.Unknown {
		s.unknown(found.Kind, found.Text, found.Reason)
	}
}

// evaluate looks at a text in the shell that s stands for.
func (s *scan) evaluate(text string, in places) after {
	if s.depth++; s.depth > maxNesting {
		s.unknown(UnknownText, text, fmt.Sprintf("it is nested more than %d deep", maxNesting))
		return anywhere()
	}
	if reason := refuse(text); reason != "" {
		s.unknown(UnknownText, text, reason)
		return anywhere()
	}
	s.text, s.backquoted, s.reprinted = text, false, false
	language := syntax.LangBash
	if s.posix {
		language = syntax.LangPOSIX
	}
	file, err := syntax.NewParser(syntax.Variant(language)).Parse(strings.NewReader(text), "")
	if err != nil {
		s.unknown(UnknownText, text, "it cannot be parsed: "+err.Error())
		return anywhere()
	}
	s.survey(file)
	return s.statements(file.Stmts, in)
}

// refuse says why a text is not looked at, "" when it is.
func refuse(text string) string {
	brackets := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[', '`':
			brackets++
		}
	}
	switch {
	case len(text) > maxText:
		return fmt.Sprintf("it has %d bytes, more than %d; put it into a file", len(text), maxText)
	case brackets > maxBrackets:
		return fmt.Sprintf("it has %d opening brackets, more than %d; put it into a file", brackets, maxBrackets)
	case !utf8.ValidString(text):
		return "it is not valid UTF-8"
	case strings.ContainsAny(text, "\x00\r"):
		return "it has a NUL character or a carriage return in it, which shells do not agree about"
	}
	return ""
}

// unknown notes what cannot be told.
func (s *scan) unknown(kind Kind, text, reason string) {
	if len(s.line.Unknown) >= maxCommands {
		return
	}
	if len(text) > maxExcerpt {
		text = strings.ToValidUTF8(text[:maxExcerpt], "") + "…"
	}
	found := Unknown{kind, text, reason}
	if !slices.Contains(s.line.Unknown, found) {
		s.line.Unknown = append(s.line.Unknown, found)
	}
}

// source is how a node is written. Inside backquotes that is not known, so there
// it is written anew.
func (s *scan) source(node syntax.Node) string {
	from, to := int(node.Pos().Offset()), int(node.End().Offset())
	if !s.backquoted && node.Pos().IsValid() && node.End().IsValid() && from <= to && to <= len(s.text) {
		return s.text[from:to]
	}
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, node); err != nil {
		return "…"
	}
	return b.String()
}
