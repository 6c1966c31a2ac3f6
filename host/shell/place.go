package shell

import (
	"path"
	"slices"
	"strings"
)

// maxPlaces bounds the working directories that are followed at once.
const maxPlaces = 16

// places are the working directories that a command may run in. None means that
// it is never reached.
type places struct {
	known   []string // absolute
	unknown bool     // or any other
}

// after is where the shell may be when a command has succeeded, and has failed.
type after struct{ ok, failed places }

func at(folders ...string) places { return places{known: folders} }

// stay is the outcome of a command that does not move the shell.
func stay(in places) after { return after{in, in} }

// anywhere is the outcome of one that may move it to any place.
func anywhere() after { return stay(places{unknown: true}) }

func (a after) all() places { return a.ok.or(a.failed) }

func (a after) or(b after) after { return after{a.ok.or(b.ok), a.failed.or(b.failed)} }

func (p places) or(other places) places {
	union := places{known: slices.Clone(p.known), unknown: p.unknown || other.unknown}
	for _, folder := range other.known {
		if !slices.Contains(union.known, folder) {
			union.known = append(union.known, folder)
		}
	}
	if len(union.known) > maxPlaces {
		return places{unknown: true}
	}
	return union
}

// join answers the absolute path that name means in folder. A ".." is taken away
// only where no link can be in between: above the directory of the options.
func (s *scan) join(folder, name string) string {
	if path.IsAbs(name) {
		folder = "/"
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "" || part == ".":
		case part == ".." && s.canonical(folder):
			folder = path.Dir(folder)
		default:
			folder = strings.TrimSuffix(folder, "/") + "/" + part
		}
	}
	return folder
}

// canonical says whether folder is the directory of the options or above it.
func (s *scan) canonical(folder string) bool {
	rest, ok := strings.CutPrefix(s.options.Directory, folder)
	return ok && (rest == "" || rest[0] == '/' || folder == "/")
}

// enter is the outcome of cd to an operand. The shell goes by names where the
// system goes by links, so both places count.
func (s *scan) enter(name string, in places) after {
	from := in.known
	if path.IsAbs(name) {
		from = []string{"/"}
	}
	reached := places{unknown: in.unknown && !path.IsAbs(name)}
	for _, folder := range from {
		joined := s.join(folder, name)
		reached = reached.or(at(joined)).or(at(path.Clean(joined)))
	}
	return after{ok: reached, failed: in}
}
