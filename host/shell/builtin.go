package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtin is what looks at a command that the shell runs itself and that does more
// than take arguments, nil for the others.
func (s *scan) builtin(name string) func([]word, places) after {
	switch name {
	case "cd":
		return s.cd
	case "pushd", "popd":
		return s.pushd
	case "exit":
		return s.exit
	case "eval":
		return s.eval
	case "source", ".":
		return s.sourced
	case "trap":
		return s.trap
	case "alias":
		return s.alias
	case "set", "shopt":
		return s.set
	case "export", "declare", "typeset", "local", "readonly":
		return s.declaration
	case "read", "readarray", "mapfile", "unset", "getopts", "wait", "let", "printf", "test", "[":
		return s.names
	}
	return nil
}

// cd moves the shell.
func (s *scan) cd(words []word, in places) after {
	s.record(words, in)
	operands := words[1:]
	for len(operands) > 0 && operands[0].static && len(operands[0].text) > 1 && strings.Trim(operands[0].text, "-LPe@") == "" {
		operands = operands[1:]
	}
	switch {
	case len(operands) == 0 && s.options.Home != "" && !s.shell.changed["HOME"]:
		s.resolve(s.options.Home, Read, in)
		return s.enter(s.options.Home, in)
	case len(operands) == 1 && operands[0].text != "-":
		if folder, ok := operands[0].known(); ok {
			return s.enter(folder, in)
		}
	}
	return anywhere()
}

// pushd moves the shell as cd does; from popd on nobody knows where it is.
func (s *scan) pushd(words []word, in places) after {
	if words[0].text == "pushd" && len(words) == 2 && words[1].static && !strings.HasPrefix(words[1].text, "-") && !strings.HasPrefix(words[1].text, "+") {
		return s.cd(words, in)
	}
	s.record(words, in)
	return anywhere()
}

// exit ends the shell: nothing runs behind it.
func (s *scan) exit(words []word, in places) after {
	s.record(words, in)
	if len(words) == 1 || len(words) == 2 && isDigits(words[1].text) {
		return after{}
	}
	return stay(in)
}

// set changes how the shell reads what follows, except for a few options that
// change nothing here.
func (s *scan) set(words []word, in places) after {
	s.record(words, in)
	for i, w := range words[1:] {
		switch {
		case !w.static:
			s.unknown(UnknownEnvironment, text(words), "the shell options it sets are not known")
		case words[0].text == "shopt":
			if slices.Contains([]string{"expand_aliases", "lastpipe", "cdable_vars", "localvar_inherit", "sourcepath"}, w.text) || w.text == "-o" {
				s.unknown(UnknownEnvironment, text(words), "it changes how the shell reads what follows")
			}
		case w.text == "--", w.text == "-":
			return stay(in)
		case slices.Contains(modes, w.text) && i > 0:
		case strings.Trim(w.text, "+-euxvfhnBCETo") != "":
			s.unknown(UnknownEnvironment, text(words), "it changes how the shell reads what follows")
		}
	}
	return stay(in)
}

// names are the commands that take the name of a variable, which the shell
// evaluates as it does in arithmetic.
func (s *scan) names(words []word, in places) after {
	s.record(words, in)
	taken := words[1:]
	switch words[0].text {
	case "test", "[", "printf":
		taken = behindName(words)
	case "readarray", "mapfile":
		for _, w := range taken {
			if w.static && strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "C") {
				s.unknown(UnknownCommand, text(words), "it runs a command for the lines it reads")
			}
		}
	case "let":
		s.unknown(UnknownCommand, text(words), hiddenCommand)
	}
	for _, w := range taken {
		if !w.static || evaluates(w.text) {
			s.unknown(UnknownCommand, text(words), hiddenCommand)
		}
		if w.static && syntax.ValidName(w.text) && words[0].text != "test" && words[0].text != "[" {
			s.variable(w.text, false, text(words))
		}
	}
	return stay(in)
}

// behindName are the arguments of test and printf that may be names: those behind
// -v, and all that could hide one.
func behindName(words []word) []word {
	var found []word
	for i, w := range words[1:] {
		behind := words[i].static && words[i].text == "-v"
		attached := words[0].text == "printf" && i == 0 && w.static && strings.HasPrefix(w.text, "-v") && w.text != "-v"
		// [ $x ] is -v and a name when x holds both; so is [ "$a" "$b" ].
		hides := w.many && !w.files && words[0].text != "printf" || words[0].text == "printf" && i == 0 && !w.static
		pair := words[0].text != "printf" && i == 0 && !w.static && len(words) == pairLength(words)
		if behind || attached || hides || pair {
			found = append(found, w)
		}
	}
	return found
}

// pairLength is how many words a test of two operands has.
func pairLength(words []word) int {
	if words[0].text == "[" {
		return 4
	}
	return 3
}
