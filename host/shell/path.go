package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// streams are the devices that are no files.
var streams = regexp.MustCompile(`^/dev/(null|zero|full|random|urandom|tty|stdin|stdout|stderr|fd/[0-9]+)$`)

// connection is a name that bash takes for a network address when it redirects.
var connection = regexp.MustCompile(`^/dev/(tcp|udp)/`)

// descriptor is what may stand behind >& and <& that is no file.
var descriptor = regexp.MustCompile(`^([0-9]+-?|-)$`)

// redirect lists the file of a redirection.
func (s *scan) redirect(r *syntax.Redirect, in places) {
	s.expansions(r.Word, in)
	s.expansions(r.Hdoc, in)
	access := Write
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		s.heredoc(r)
		return
	case syntax.WordHdoc:
		return
	case syntax.RdrIn, syntax.DplIn:
		access = Read
	}
	words := s.words([]*syntax.Word{r.Word})
	for _, w := range words {
		duplicates := r.Op == syntax.DplOut || r.Op == syntax.DplIn
		switch {
		case duplicates && w.static && descriptor.MatchString(w.text):
		case w.static && connection.MatchString(path.Clean(w.text)):
			s.unknown(UnknownCommand, s.source(r), "it opens a network connection")
		default:
			s.operand(w, access, in)
		}
	}
}

// heredoc reports a body in which the delimiter stands on a line of its own: in an
// expansion in the body, say. The shell ends the body there, and what the parser
// takes for more of it are commands.
func (s *scan) heredoc(r *syntax.Redirect) {
	end := s.word(r.Word)
	if r.Hdoc == nil && end.static {
		return
	}
	const reason = "it is not certain where the text behind << ends"
	if !end.static || s.backquoted || s.reprinted {
		s.unknown(UnknownText, s.source(r.Word), reason)
		return
	}
	body := strings.Split(s.source(r.Hdoc), "\n")
	for i, line := range body {
		if r.Op == syntax.DashHdoc {
			line = strings.TrimLeft(line, "\t")
		}
		if (line == end.text) != (i == len(body)-1) {
			s.unknown(UnknownText, line, reason)
		}
	}
}

// resolve lists a path as it is meant in every directory the command may run in.
func (s *scan) resolve(name string, access Access, in places) {
	if name == "" {
		return
	}
	if path.IsAbs(name) {
		s.path(s.join("/", name), access)
		return
	}
	if in.unknown {
		s.unknown(UnknownPath, name, "the directory that the path starts from is not known")
		return
	}
	for _, folder := range in.known {
		s.path(s.join(folder, name), access)
	}
}

// path lists an absolute path once for every access.
func (s *scan) path(name string, access Access) {
	found := Path{name, access}
	if len(s.line.Paths) >= maxPaths {
		s.unknown(UnknownText, name, "it names more paths than are looked at; run it in parts")
		return
	}
	if !streams.MatchString(path.Clean(name)) && !strings.Contains(name, "\x00") && !slices.Contains(s.line.Paths, found) {
		s.line.Paths = append(s.line.Paths, found)
	}
}
