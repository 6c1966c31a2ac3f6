package plugin

import (
	"errors"
	"fmt"
	"io/fs"
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
		return manifest, &ManifestError{File: file, Text: fmt.Sprintf("it has %d bytes, the limit is %d", len(text), MaxManifestBytes)}
	}
	decoder := toml.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&manifest); err != nil {
		return manifest, decodeError(file, err)
	}
	c := checker{file: file, text: string(text), beside: beside}
	return manifest, c.check(&manifest)
}

func decodeError(file string, err error) error {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		first := unknown.Errors[0]
		line, _ := first.Position()
		return &ManifestError{File: file, Line: line, Key: strings.Join(first.Key(), "."), Text: "there is no such key; remove it or correct its spelling"}
	}
	if malformed, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := malformed.Position()
		return &ManifestError{File: file, Line: line, Key: strings.Join(malformed.Key(), "."), Text: strings.TrimPrefix(malformed.Error(), "toml: ")}
	}
	return &ManifestError{File: file, Text: err.Error()}
}
