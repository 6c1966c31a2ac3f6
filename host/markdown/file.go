package markdown

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxFile bounds a file, in bytes.
const MaxFile = 128 << 10

// File is a file that was read.
type File struct {
	// Name is the file's without its ending, or that of the folder around it when every
	// folder has a file of one name.
	Name string
	Path string // absolute
	// Body is what follows the front matter, without blank lines around it.
	Body  string
	front []byte // YAML; nil for none
	lines map[string]int
}

// Front decodes the front matter into a struct with yaml tags, of which every key must be
// one. Without front matter it stays as it is.
func (f File) Front(into any) error { return f.decode(into, true) }

// Known is Front for a format of others: keys that the struct has not are left out.
func (f File) Known(into any) error { return f.decode(into, false) }

// Line is where the front matter has a key, 1 for one that it has not.
func (f File) Line(key string) int { return max(f.lines[key], 1) }

// Lines is where each key of the front matter stands, and each element of its lists, like
// rules[0].
func (f File) Lines() map[string]int { return f.lines }

// Errorf is what is wrong with a key of the front matter; "" stands for the whole file.
func (f File) Errorf(key, format string, args ...any) *Error {
	wrong := &Error{Path: f.Path, Text: fmt.Sprintf(format, args...)}
	if key != "" {
		wrong.Line, wrong.Text = f.Line(key), key+": "+wrong.Text
	}
	return wrong
}

func (f File) decode(into any, strict bool) error {
	if len(bytes.TrimSpace(f.front)) == 0 {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(f.front))
	decoder.KnownFields(strict)
	if err := decoder.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return decoded(f.Path, err, into)
	}
	return nil
}

// split takes a file apart. Front matter stands between two lines of three dashes, the
// first of which is the file's first.
func split(name, path string, data []byte) (File, error) {
	file := File{Name: name, Path: path}
	switch {
	case len(data) > MaxFile:
		return file, file.Errorf("", "has more than %d KiB; shorten it", MaxFile>>10)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return file, file.Errorf("", "is not text in UTF-8")
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		file.Body = strings.TrimSpace(text)
		return file, nil
	}
	front, body, closed := strings.Cut("\n"+rest+"\n", "\n---\n")
	if !closed {
		return file, &Error{Path: path, Line: 1, Text: "its front matter does not end; write --- alone on a line behind it"}
	}
	file.front, file.Body = []byte(strings.TrimPrefix(front, "\n")), strings.TrimSpace(body)
	var err error
	file.lines, err = lines(path, file.front)
	return file, err
}

// lines is where each key of the front matter stands in the file.
func lines(path string, front []byte) (map[string]int, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(front, &root); err != nil {
		return nil, decoded(path, err, nil)
	}
	if len(root.Content) == 0 {
		return nil, nil
	}
	table := root.Content[0]
	if table.Kind != yaml.MappingNode {
		return nil, &Error{Path: path, Line: 2, Text: "its front matter must have keys and values, like description: Reads a change"}
	}
	found := map[string]int{}
	for pair := range slices.Chunk(table.Content, 2) {
		found[pair[0].Value] = pair[0].Line + 1
		if pair[1].Kind != yaml.SequenceNode {
			continue
		}
		for i, element := range pair[1].Content {
			found[fmt.Sprintf("%s[%d]", pair[0].Value, i)] = element.Line + 1
		}
	}
	return found, nil
}
