package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"

	abi "github.com/plinthhost/plinth/abi/v1"
)

// ManifestName is the file that holds a plugin's manifest.
const ManifestName = "plugin.toml"

// MaxManifestBytes bounds a manifest and each schema beside it.
const MaxManifestBytes = 256 << 10

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
// are named as files are read from beside, which may be nil; they stand in the
// manifest as JSON afterwards. Errors are of type *ManifestError.
func DecodeManifest(file string, text []byte, beside fs.FS) (abi.Manifest, error) {
	var manifest abi.Manifest
	if len(text) > MaxManifestBytes {
		return manifest, &ManifestError{File: file, Text: tooLarge(int64(len(text)), MaxManifestBytes).Error()}
	}
	decoder := toml.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&manifest); err != nil {
		return manifest, decodeError(file, err)
	}
	c := checker{file: file, lines: linesOf(text), beside: beside}
	return manifest, c.check(&manifest)
}

func decodeError(file string, err error) error {
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(unknown.Errors) > 0 {
		first := unknown.Errors[0]
		line, _ := first.Position()
		return &ManifestError{File: file, Line: line, Key: strings.Join(first.Key(), "."), Text: "there is no such key; remove it or correct its spelling"}
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
