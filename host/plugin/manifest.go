package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	abi "github.com/plinthhost/plinth/abi/v1"
)

// ManifestName is the file that holds a plugin's manifest.
const ManifestName = "plugin.toml"

// Limits of a manifest.
const (
	MaxManifestBytes = 256 << 10 // of the file, and of each schema beside it
	// MaxPackedManifestBytes is of a manifest with its schemas in it.
	MaxPackedManifestBytes = 1 << 20
)

// ManifestError is a manifest that was refused.
type ManifestError struct {
	File string
	Line int    // 0 when it concerns the whole file
	Key  string // for example "tool.name"
	Text string // what is wrong and what to do
}

func (e *ManifestError) Error() string {
	text := e.File
	if e.Line > 0 {
		text += fmt.Sprintf(":%d", e.Line)
	}
	if e.Key != "" {
		text += ": " + e.Key
	}
	return text + ": " + e.Text
}

// DecodeManifest reads a manifest strictly and checks every field. Schemas that
// are named as files are read from beside, nil when all stand in the manifest; they
// stand there as JSON afterwards. Errors are of type *ManifestError.
func DecodeManifest(file string, text []byte, beside fs.FS) (abi.Manifest, error) {
	var manifest abi.Manifest
	limit := MaxManifestBytes
	if beside == nil {
		limit = MaxPackedManifestBytes
	}
	if len(text) > limit {
		return manifest, &ManifestError{File: file, Text: tooLarge(int64(len(text)), int64(limit)).Error()}
	}
	if err := checkEncoding(file, text); err != nil {
		return manifest, err
	}
	decoder := toml.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&manifest); err != nil {
		return manifest, decodeError(file, err)
	}
	c := checker{file: file, lines: linesOf(text), beside: beside}
	if err := c.spelling(); err != nil {
		return manifest, err
	}
	return manifest, c.check(&manifest)
}

// checkEncoding refuses what the decoder would read as characters of somebody else's.
func checkEncoding(file string, text []byte) error {
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		return &ManifestError{File: file, Line: 1, Text: "it begins with a byte order mark; save it as UTF-8 without one"}
	}
	if !utf8.Valid(text) {
		valid := bytes.ToValidUTF8(text, nil)
		same := 0
		for same < len(valid) && text[same] == valid[same] {
			same++
		}
		return &ManifestError{File: file, Line: 1 + bytes.Count(text[:same], []byte("\n")), Text: "it is not UTF-8 here; save it as UTF-8"}
	}
	return nil
}

// spelling refuses keys with capitals, which the decoder would take for those without.
func (c *checker) spelling() error {
	for _, path := range slices.Sorted(maps.Keys(c.lines)) {
		if own := ownKey(path); strings.ToLower(own) != own {
			return c.fail(path, "there is no such key; all are in small letters")
		}
	}
	return nil
}

// ownKey is the part of a path that the manifest decides on: parameters and headers are
// called as others called them.
func ownKey(path string) string {
	for _, table := range []string{".discover.query.", ".discover.headers."} {
		if own, _, found := strings.Cut(path, table); found {
			return own
		}
	}
	return path
}

func decodeError(file string, err error) error {
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(unknown.Errors) > 0 {
		first := unknown.Errors[0]
		line, _ := first.Position()
		refused := &ManifestError{File: file, Line: line, Key: strings.Join(first.Key(), "."), Text: "there is no such key; remove it or correct its spelling"}
		if near := nearKey(first.Key()); near != "" {
			refused.Text = fmt.Sprintf("there is no such key; did you mean %s?", near)
		}
		return refused
	}
	if malformed, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := malformed.Position()
		return &ManifestError{File: file, Line: line, Key: strings.Join(malformed.Key(), "."), Text: explain(malformed)}
	}
	return &ManifestError{File: file, Text: err.Error()}
}

var wrongType = regexp.MustCompile(`^cannot decode TOML (.+) into struct field \S+ of type (\S+)$`)

// explain says what a value must be in TOML's words, not in Go's.
func explain(malformed *toml.DecodeError) string {
	text := strings.TrimPrefix(malformed.Error(), "toml: ")
	found := wrongType.FindStringSubmatch(text)
	if found == nil {
		return text
	}
	wanted := "a table"
	switch kind := strings.TrimPrefix(found[2], "*"); {
	case kind == "string":
		wanted = "a string"
	case kind == "bool":
		wanted = "true or false"
	case kind == "int" || kind == "int64":
		wanted = "a whole number"
	case kind == "[]string":
		wanted = "a list of strings"
	case strings.HasPrefix(kind, "[]"):
		wanted = "a list of tables, written [[" + strings.Join(malformed.Key(), ".") + "]]"
	}
	return fmt.Sprintf("it must be %s, not of the type %s", wanted, found[1])
}
