package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wrapper is a program that runs the command among its arguments.
type wrapper struct {
	flags    string   // one-letter options without a value
	values   string   // one-letter options with one, attached or in the next word
	optional string   // one-letter options that may have one, attached
	lookup   string   // one-letter options that make it run nothing
	moves    string   // options of values that change the directory
	long     []string // long options; "=" behind one with a value, "?" if attached only

	operands int  // arguments before the command
	assigns  bool // NAME=value may stand before the command
	listed   bool // it lends the command rights, so it counts as a command itself
	appends  bool // it adds arguments of its own
	inShell  bool // the command may change the shell
}

// wrappers are the programs whose options are understood. With any other option
// what they run is unknown.
var wrappers = map[string]wrapper{
	"builtin": {inShell: true},
	"command": {flags: "p", lookup: "vV", inShell: true},
	"exec":    {flags: "cl", values: "a"},
	"busybox": {},
	"toybox":  {},
	"env": {
		flags: "i0v", values: "uC", moves: "C", assigns: true,
		long: []string{"ignore-environment", "null", "debug", "unset=", "chdir="},
	},
	"nohup":   {},
	"time":    {flags: "pvaql", values: "fo", long: []string{"portability", "verbose", "append", "quiet", "format=", "output="}},
	"nice":    {flags: "0123456789", values: "n", long: []string{"adjustment="}},
	"ionice":  {flags: "t", values: "cn", lookup: "pPu", long: []string{"ignore", "class=", "classdata="}},
	"timeout": {flags: "fpv", values: "ks", operands: 1, long: []string{"foreground", "preserve-status", "verbose", "kill-after=", "signal="}},
	"gtimeout": {
		flags: "fpv", values: "ks", operands: 1,
		long: []string{"foreground", "preserve-status", "verbose", "kill-after=", "signal="},
	},
	"stdbuf":     {values: "ioe", long: []string{"input=", "output=", "error="}},
	"setsid":     {flags: "cfw", long: []string{"ctty", "fork", "wait"}},
	"chronic":    {flags: "ve"},
	"caffeinate": {flags: "dimsu", values: "tw"},
	"taskset":    {flags: "ac", operands: 1, lookup: "p"},
	"chroot":     {operands: 1, moves: "r", listed: true, long: []string{"skip-chdir", "groups=", "userspec="}},
	"sudo": {
		flags: "AbEHknPS", values: "ughpCDrTt", lookup: "lvKV", moves: "D", assigns: true, listed: true,
		long: []string{"askpass", "background", "preserve-env?", "set-home", "non-interactive", "preserve-groups", "stdin", "user=", "group=", "chdir=", "prompt="},
	},
	"doas": {flags: "nL", values: "uC", listed: true},
	"xargs": {
		flags: "0prtxo", values: "aEdLnPsIJR", optional: "eil", appends: true,
		long: []string{"null", "no-run-if-empty", "interactive", "verbose", "exit", "open-tty", "arg-file=", "delimiter=", "max-lines?", "max-args=", "max-procs=", "max-chars=", "replace?", "eof?"},
	},
}

// runners are programs that run others in ways that are not looked at.
var runners = map[string]string{
	"bwrap": runsAnother, "capsh": runsAnother, "chrt": runsAnother, "dbus-run-session": runsAnother, "entr": runsAnother,
	"expect": runsAnother, "fakeroot": runsAnother, "firejail": runsAnother, "flock": runsAnother, "gdb": runsAnother,
	"ltrace": runsAnother, "nix-shell": runsAnother, "nsenter": runsAnother, "numactl": runsAnother, "parallel": runsAnother,
	"perf": runsAnother, "pkexec": runsAnother, "proot": runsAnother, "rlwrap": runsAnother, "runuser": runsAnother,
	"script": runsAnother, "setpriv": runsAnother, "start-stop-daemon": runsAnother, "strace": runsAnother, "su": runsAnother,
	"systemd-run": runsAnother, "unbuffer": runsAnother, "unshare": runsAnother, "valgrind": runsAnother, "watch": runsAnother,
	"xvfb-run": runsAnother,

	"at": runsLater, "atd": runsLater, "batch": runsLater, "crontab": runsLater,

	"bind": changesShell, "complete": changesShell, "compgen": changesShell, "compopt": changesShell, "enable": changesShell,
	"fc": changesShell, "hash": changesShell, "jobs": changesShell,
}

const (
	runsAnother  = "it runs another command, which is not looked for in its arguments"
	runsLater    = "it runs commands later, which are not looked for"
	changesShell = "it may change what names mean in this shell, or run a command"
)

// wrapper looks at a command that runs another.
func (s *scan) wrapper(w wrapper, words []word, in places) after {
	inner, runs, ok := s.unwrap(w, words)
	if !ok {
		s.unknown(UnknownCommand, text(words), "the options of "+words[0].text+" are not understood, so neither is what it runs")
	}
	// One that is named by a path may be any program.
	if !ok || !runs || w.listed || strings.Contains(words[0].text, "/") {
		s.record(words, in)
	}
	if !ok || !runs {
		return stay(in)
	}
	if w.moves != "" && s.movesAway(w, words[:len(words)-len(inner)]) {
		in = places{unknown: true}
	}
	if w.appends {
		inner = appended(inner, words[1:len(words)-len(inner)])
	}
	if out := s.run(inner, in); w.inShell {
		return out
	}
	return stay(in)
}

// unwrap finds the command in the arguments of its wrapper. ok is false when the
// arguments before it are not understood, runs when there is no command.
func (s *scan) unwrap(w wrapper, words []word) (inner []word, runs, ok bool) {
	rest := words[1:]
	for len(rest) > 0 && rest[0].static && strings.HasPrefix(rest[0].text, "-") {
		option := rest[0].text
		rest = rest[1:]
		if option == "--" {
			break
		}
		if option == "-" { // of env
			continue
		}
		next, runs, ok := w.option(option)
		if !ok || !runs {
			return nil, runs, ok
		}
		if next {
			if len(rest) == 0 || rest[0].many {
				return nil, false, false
			}
			rest = rest[1:]
		}
	}
	for range w.operands {
		if len(rest) == 0 || rest[0].many {
			return nil, false, false
		}
		rest = rest[1:]
	}
	for w.assigns && len(rest) > 0 {
		name, _, ok := strings.Cut(rest[0].text, "=")
		if !ok || !syntax.ValidName(name) || rest[0].many {
			break
		}
		s.variable(name, true, rest[0].text)
		rest = rest[1:]
	}
	if len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
		return nil, false, false
	}
	return rest, len(rest) > 0, true
}

// appended is a command with the arguments that xargs reads: behind its own, or
// wherever the text stands that an option names.
func appended(inner, options []word) []word {
	place := ""
	for i, w := range options {
		switch {
		case w.text == "-i" || w.text == "--replace":
			place = "{}"
		case w.text == "-I" || w.text == "-J":
			place = options[i+1].text
		case strings.HasPrefix(w.text, "-I") || strings.HasPrefix(w.text, "-J") || strings.HasPrefix(w.text, "-i"):
			place = w.text[2:]
		default:
			place = strings.TrimPrefix(w.text, "--replace=")
			if place == w.text {
				place = ""
			}
		}
		if place != "" {
			break
		}
	}
	inner = slices.Clone(inner)
	for i, w := range inner {
		if place != "" && strings.Contains(w.text, place) {
			inner[i] = word{text: quote(w.text)}
		}
	}
	return append(inner, word{text: `"$@"`, many: true})
}

// option reads one option: whether its value is the next word, whether the
// wrapper still runs a command, and whether it is understood at all.
func (w wrapper) option(option string) (next, runs, ok bool) {
	if name, isLong := strings.CutPrefix(option, "--"); isLong {
		name, _, attached := strings.Cut(name, "=")
		withValue := slices.Contains(w.long, name+"=")
		return withValue && !attached, true, withValue || slices.Contains(w.long, name+"?") || slices.Contains(w.long, name) && !attached
	}
	for i, letter := range option[1:] {
		switch {
		case strings.ContainsRune(w.values, letter):
			return i == len(option)-2, true, true
		case strings.ContainsRune(w.optional, letter):
			return false, true, true
		case strings.ContainsRune(w.lookup, letter):
			return false, false, true
		case !strings.ContainsRune(w.flags, letter):
			return false, false, false
		}
	}
	return false, true, true
}

// movesAway says whether an option in words makes the command run elsewhere.
func (s *scan) movesAway(w wrapper, words []word) bool {
	return words[0].text == "chroot" || slices.ContainsFunc(words, func(word word) bool {
		return strings.HasPrefix(word.text, "--chdir") ||
			strings.HasPrefix(word.text, "-") && !strings.HasPrefix(word.text, "--") && strings.ContainsAny(word.text, w.moves)
	})
}
