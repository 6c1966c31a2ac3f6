package shell

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// harmless are the variables that choose a language, a format or how much is
// said, but no program and no file.
var harmless = regexp.MustCompile(`^(LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLUMNS|LINES|CI|DEBUG|VERBOSE|NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE` +
	`|GOOS|GOARCH|CGO_ENABLED|GOMAXPROCS|GO111MODULE|NODE_ENV|RAILS_ENV|RUST_LOG|RUST_BACKTRACE` +
	`|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONHASHSEED|DEBIAN_FRONTEND)$`)

// inEnvironment are the variables that the shell itself obeys, and those that
// commands find in their environment: to assign one changes later commands, also
// without export.
var inEnvironment = regexp.MustCompile(`^(PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|TMPDIR|IFS|ENV|CDPATH|PS[0-4]|PROMPT_COMMAND|SHELLOPTS` +
	`|GLOBIGNORE|EXECIGNORE|HIST.*|BASH.*|POSIXLY_CORRECT|LD_.*|DYLD_.*|XDG_.*|GIT_.*|SSH_.*)$`)

// assign reports an assignment that changes what commands do. With exported it is
// for the environment of one command, or of all that follow.
func (s *scan) assign(a *syntax.Assign, exported bool) {
	if a.Index != nil {
		s.arithmetic(a.Index)
	}
	if a.Name != nil {
		s.variable(a.Name.Value, exported, s.source(a))
	}
}

// variable reports a variable whose value others obey.
func (s *scan) variable(name string, exported bool, text string) {
	s.shell.changed[name] = true
	exported = exported || slices.Contains(s.options.Exported, name)
	if !harmless.MatchString(name) && (exported || inEnvironment.MatchString(name)) {
		s.unknown(UnknownEnvironment, text, "the variable "+name+" may change what commands do")
	}
}

// declare is export, local, declare and their like.
func (s *scan) declare(c *syntax.DeclClause, in places) after {
	s.expansions(c, in)
	words := []word{{text: c.Variant.Value, static: true}}
	for _, a := range c.Args {
		if a.Naked && a.Name == nil {
			words = append(words, s.words([]*syntax.Word{a.Value})...)
			continue
		}
		if a.Index != nil {
			s.arithmetic(a.Index)
		}
		words = append(words, s.declared(a))
	}
	return s.declaration(words, in)
}

// declared is an assignment as the argument that it is.
func (s *scan) declared(a *syntax.Assign) word {
	switch {
	case a.Naked && a.Index == nil:
		return word{text: a.Name.Value, static: true}
	case a.Index != nil || a.Array != nil:
		return word{text: s.source(a)}
	}
	sign := "="
	if a.Append {
		sign = "+="
	}
	if a.Value == nil {
		return word{text: a.Name.Value + sign, static: true}
	}
	value := s.word(a.Value)
	if !value.static {
		return word{text: s.source(a)}
	}
	return word{text: a.Name.Value + sign + value.text, static: true}
}

// declaration is export, local, declare and their like, with the arguments known
// as words.
func (s *scan) declaration(words []word, in places) after {
	exported := words[0].text == "export"
	for _, w := range words[1:] {
		option := w.static && strings.HasPrefix(w.text, "-")
		exported = exported || option && strings.Contains(w.text, "x")
		if option && strings.ContainsAny(w.text, "in") {
			s.unknown(UnknownCommand, text(words), hiddenCommand)
		}
	}
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w.text, "=")
		name = strings.TrimSuffix(name, "+")
		switch {
		case w.static && (strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "+")):
		case w.many || !syntax.ValidName(name):
			s.unknown(UnknownCommand, text(words), "the variable it sets is not known")
		default:
			s.variable(name, exported, w.text)
		}
		if w.static && evaluates(value) {
			s.unknown(UnknownCommand, text(words), hiddenCommand)
		}
	}
	s.record(words, in)
	return stay(in)
}

// evaluates says whether a text, taken for a variable's name or a number, would
// run a command.
func evaluates(text string) bool {
	return strings.Contains(text, "[") && strings.ContainsAny(text, "$`")
}
