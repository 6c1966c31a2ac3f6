package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call is a simple command as it is written.
func (s *scan) call(c *syntax.CallExpr, in places) after {
	s.expansions(c, in)
	for _, a := range c.Assigns {
		s.assign(a, len(c.Args) > 0)
	}
	return s.run(s.words(c.Args), in)
}

// run is a simple command after expansion, also one that another command runs.
func (s *scan) run(words []word, in places) after {
	if len(words) == 0 {
		return stay(in)
	}
	if name, ok := words[0].known(); ok {
		words = append([]word{{text: name, static: true}}, words[1:]...)
	} else {
		s.unknown(UnknownCommand, text(words), "the program is not known before the command runs")
		return anywhere()
	}
	words = s.program(words, in)
	name, base := words[0].text, path.Base(words[0].text)
	if s.shell.functions[name] {
		return s.function(words, in)
	}
	if w, ok := wrappers[base]; ok && !(w.inShell && base != name) {
		return s.wrapper(w, words, in)
	}
	if handle := s.builtin(name); handle != nil {
		return handle(words, in)
	}
	if _, ok := shells[base]; ok {
		return s.shellProgram(words, in)
	}
	if base == "find" || base == "gfind" {
		return s.find(words, in)
	}
	if reason, ok := runners[base]; ok {
		s.unknown(UnknownCommand, text(words), reason)
	}
	s.interpreter(words)
	s.record(words, in)
	return stay(in)
}

// function is the call of a function of this text: its body is looked at where it
// is declared, and its name must not be approved as that of a program.
func (s *scan) function(words []word, in places) after {
	s.record(words, in)
	s.line.Commands[len(s.line.Commands)-1].Pattern = ""
	if s.shell.functionsMove {
		return anywhere()
	}
	return stay(in)
}

// program gives the program its canonical name: one in a folder of the system
// goes by its last part, one below the working directory by its absolute path
// when the text has changed the directory.
func (s *scan) program(words []word, in places) []word {
	name := words[0].text
	words = slices.Clone(words)
	switch folder := path.Dir(name); {
	case !strings.Contains(name, "/"):
	case slices.Contains([]string{"/bin", "/usr/bin", "/sbin", "/usr/sbin"}, folder) && !strings.HasSuffix(name, "/"):
		words[0].text = path.Base(name)
	case path.IsAbs(name):
		words[0].text = s.join("/", name)
	case in.unknown:
		s.unknown(UnknownCommand, text(words), "the directory it runs in is not known, so neither is the program")
	case len(in.known) > 1 || len(in.known) == 1 && in.known[0] != s.options.Directory:
		words[0].text = s.join(in.known[len(in.known)-1], name)
		if len(in.known) > 1 {
			s.unknown(UnknownCommand, text(words), "it may run in several directories, so the program is not known")
		}
	}
	return words
}

// record lists a command and the paths it names.
func (s *scan) record(words []word, in places) {
	if len(s.line.Commands) >= maxCommands {
		return
	}
	command := Command{Exact: true, Text: text(words), Pattern: pattern(words)}
	for _, w := range words {
		command.Words = append(command.Words, w.text)
		command.Exact = command.Exact && w.static
	}
	s.line.Commands = append(s.line.Commands, command)
	s.arguments(words, in)
}
