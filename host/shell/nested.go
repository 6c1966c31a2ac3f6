package shell

import (
	"path"
	"slices"
	"strings"
)

const inputScript = "it runs what it reads from its input"

// eval runs its words as a text in this shell.
func (s *scan) eval(words []word, in places) after {
	var texts []string
	for _, w := range words[1:] {
		if !w.static {
			s.record(words, in)
			s.unknown(UnknownCommand, text(words), "the text it evaluates is not known before it runs")
			return anywhere()
		}
		texts = append(texts, w.text)
	}
	if len(texts) > 0 && texts[0] == "--" {
		texts = texts[1:]
	}
	inner := *s
	return inner.evaluate(strings.Join(texts, " "), in)
}

// sourced is a file that runs in this shell: nothing is certain behind it.
func (s *scan) sourced(words []word, in places) after {
	s.record(words, in)
	s.unknown(UnknownCommand, text(words), "it runs a file in this shell, which may change what later commands mean")
	return anywhere()
}

// trap runs a text at some later time.
func (s *scan) trap(words []word, in places) after {
	operands := words[1:]
	if len(operands) > 0 && operands[0].text == "--" {
		operands = operands[1:]
	}
	s.record(words, in)
	switch {
	case len(operands) == 0 || operands[0].static && (len(operands) == 1 || slices.Contains([]string{"", "-", "-p", "-l"}, operands[0].text)):
		return stay(in)
	case !operands[0].static:
		s.unknown(UnknownCommand, text(words), "the text it runs later is not known")
		return anywhere()
	}
	inner := *s
	inner.evaluate(operands[0].text, places{unknown: true})
	return anywhere()
}

// aliases are not followed: they change how the text behind them is read.
func (s *scan) alias(words []word, in places) after {
	s.record(words, in)
	for _, w := range words[1:] {
		if !w.static || strings.Contains(w.text, "=") {
			s.unknown(UnknownCommand, text(words), "an alias changes what later words mean")
		}
	}
	return stay(in)
}

// shells are the programs that run a text or a file of commands, and the letters
// of those of their options that change nothing here.
var shells = map[string]string{
	"bash": "leuxvhmnBCETHf", "rbash": "leuxvhmnBCETHf", "sh": "leuxvhmnCf", "dash": "leuxvmnCf", "ash": "leuxvmnCf",
	"zsh": "", "ksh": "", "ksh93": "", "mksh": "", "yash": "", "fish": "", "csh": "", "tcsh": "", "elvish": "", "nu": "", "pwsh": "", "xonsh": "",
}

// modes are the shell options, as in "-o pipefail", that change nothing here.
var modes = []string{"errexit", "nounset", "pipefail", "xtrace", "verbose", "noglob", "noclobber", "errtrace", "functrace", "noexec"}

// shellProgram is a shell as a command: bash -c "text", bash file, or one that
// reads its input.
func (s *scan) shellProgram(words []word, in places) after {
	script, file, reason := shellArguments(words)
	switch {
	case reason != "":
		s.record(words, in)
		s.unknown(UnknownCommand, text(words), reason)
	case file:
		s.record(words, in)
	case script != nil:
		if strings.Contains(words[0].text, "/") { // it may be any program
			s.record(words, in)
		}
		s.nested(*script, strings.TrimPrefix(path.Base(words[0].text), "r"), in)
	default:
		s.record(words, in) // --version
	}
	return stay(in)
}

// shellArguments finds the text of bash -c, or says that a file is run, or why
// what runs is not known.
func shellArguments(words []word) (script *string, file bool, reason string) {
	letters := shells[path.Base(words[0].text)]
	const notKnown = "its arguments are not understood, so neither is what it runs"
	inline := false
	rest := words[1:]
	for len(rest) > 0 && rest[0].static && len(rest[0].text) > 1 && strings.ContainsAny(rest[0].text[:1], "-+") {
		option := rest[0].text
		rest = rest[1:]
		switch {
		case option == "--version" || option == "--help":
			return nil, false, ""
		case option == "--login" || option == "--norc" || option == "--noprofile":
			continue
		case option == "--":
		case strings.HasPrefix(option, "--") || letters == "":
			return nil, false, notKnown
		case strings.HasSuffix(option, "o") && strings.Trim(option[1:], letters+"co") == "":
			if len(rest) == 0 || !slices.Contains(modes, rest[0].text) || option[0] == '+' {
				return nil, false, notKnown
			}
			inline = inline || strings.Contains(option, "c")
			rest = rest[1:]
			continue
		case strings.Trim(option[1:], letters+"c") == "":
			inline = inline || option[0] == '-' && strings.Contains(option, "c")
			continue
		case strings.Contains(option, "s"):
			return nil, false, inputScript
		default:
			return nil, false, notKnown
		}
		break
	}
	switch {
	case len(rest) == 0 || rest[0].static && rest[0].text == "-":
		return nil, false, inputScript
	case !rest[0].static && (inline || rest[0].many):
		return nil, false, "the text it runs is not known before it runs"
	case inline:
		return &rest[0].text, false, ""
	}
	return nil, true, ""
}
