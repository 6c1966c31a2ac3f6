package shell

import (
	"slices"
	"strings"
)

// find runs commands for what it finds.
func (s *scan) find(words []word, in places) after {
	s.record(words, in)
	folders := s.searched(words, in)
	rest := words[1:]
	runs, dynamic, many := false, false, false
	for len(rest) > 0 {
		w := rest[0]
		rest = rest[1:]
		dynamic = dynamic || w.isOpen()
		many = many || w.many && !w.files
		switch {
		case !w.static:
		case slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, w.text):
			runs = true
			end := slices.IndexFunc(rest, func(w word) bool { return w.static && (w.text == ";" || w.text == "+") })
			if end < 0 {
				s.unknown(UnknownCommand, text(words), "the command behind "+w.text+" does not end with ; or +")
				return stay(in)
			}
			dynamic = dynamic || slices.ContainsFunc(rest[:end], word.isOpen)
			if strings.HasSuffix(w.text, "dir") {
				in = places{unknown: true}
			}
			s.run(substitute(rest[:end], folders), in)
			rest = rest[end+1:]
		case w.text == ";" || w.text == "+":
			runs = true
		}
	}
	if many || runs && dynamic {
		s.unknown(UnknownCommand, text(words), "an argument of find that is not known may be a command to run")
	}
	return stay(in)
}

// isOpen says whether the word may be anything.
func (w word) isOpen() bool {
	_, ok := w.known()
	return !ok
}

// searched are the folders that find looks through, none when they are not known.
func (s *scan) searched(words []word, in places) []string {
	var folders []string
	for _, w := range words[1:] {
		if w.static && w.text != "" && strings.Contains("-(!", w.text[:1]) {
			break
		}
		name, ok := w.known()
		if !ok || in.unknown {
			return nil
		}
		for _, folder := range in.known {
			folders = append(folders, s.join(folder, name))
		}
	}
	if len(folders) == 0 && !in.unknown {
		return in.known
	}
	return folders
}

// substitute puts names of files below the folders for {}.
func substitute(command []word, folders []string) []word {
	command = slices.Clone(command)
	for i, w := range command {
		if w.static && strings.Contains(w.text, "{}") {
			command[i] = word{text: quote(w.text), files: len(folders) > 0, folders: folders}
		}
	}
	return command
}
