package plugin

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
)

// MaxGoldenBytes bounds each file of a golden.
const MaxGoldenBytes = 4 << 20

// Golden is one recorded call of a plugin: what it is given, the operations it
// makes, and its answer.
type Golden struct {
	Input  string // file, relative to the plugin's folder
	Output string // likewise
	Entry  string // the module's export
	// Config are the plugin's settings as JSON; nil for none.
	Config     json.RawMessage
	Body       json.RawMessage
	Operations []GoldenOperation
	Answer     json.RawMessage // {"ok": …} or {"error": …}
}

// GoldenOperation is one recorded operation. Answer is a whole message.
type GoldenOperation struct {
	Name    string
	Request json.RawMessage
	Answer  []byte
}

// GoldenError is a golden whose files cannot be used.
type GoldenError struct {
	File  string
	Field string // for example "operations[1].op"; empty for the whole file
	Err   error  // what is wrong and what to do
}

func (e *GoldenError) Error() string {
	if e.Field == "" {
		return e.File + ": " + e.Err.Error()
	}
	return e.File + ": " + e.Field + ": " + e.Err.Error()
}

func (e *GoldenError) Unwrap() error { return e.Err }

// Goldens reads what the [[golden]] tables of a plugin's folder name. Nothing
// outside of the folder is read. Errors are of type *ManifestError, *SourceError or
// *GoldenError.
func Goldens(folder string) ([]Golden, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, &SourceError{Origin: folder, Err: reason(err)}
	}
	defer root.Close()
	manifest, _, err := manifestIn(folder, root.FS())
	if err != nil {
		return nil, err
	}
	return goldensOf(folder, manifest, func(name string) ([]byte, error) { return readFile(root.FS(), name, MaxGoldenBytes) })
}

// Goldens reads those that are packed with the plugin. Errors are of type *SourceError
// or *GoldenError.
func (c Candidate) Goldens() ([]Golden, error) {
	files, err := c.files()
	if err != nil {
		return nil, &SourceError{Origin: c.Origin, Err: err}
	}
	return goldensOf(c.Origin, c.Manifest, func(name string) ([]byte, error) { return files[name], nil })
}

// goldensOf reads what the manifest names; errors name files below origin.
func goldensOf(origin string, manifest abi.Manifest, read func(name string) ([]byte, error)) ([]Golden, error) {
	goldens := make([]Golden, len(manifest.Goldens))
	for i, declared := range manifest.Goldens {
		golden := Golden{Input: declared.Input, Output: declared.Output, Entry: goldenKinds[declared.Export].entry}
		if err := golden.read(origin, read); err != nil {
			return nil, err
		}
		goldens[i] = golden
	}
	return goldens, nil
}

// goldenKinds are the exports a golden can record, with the table that declares
// what is called.
var goldenKinds = map[string]struct{ entry, table string }{
	"tool":              {abi.ExportTool, "tool"},
	"context":           {abi.ExportContext, "context"},
	"provider_encode":   {abi.ExportProviderEncode, "provider"},
	"provider_decode":   {abi.ExportProviderDecode, "provider"},
	"provider_classify": {abi.ExportProviderClassify, "provider"},
	"transform":         {abi.ExportTransform, "transform"},
}

// Entry is the module's export that a golden's export stands for: "tool" for
// plinth_tool_execute. Ok is false for a name that stands for none.
func Entry(export string) (entry string, ok bool) {
	kind, ok := goldenKinds[export]
	return kind.entry, ok
}

// Exports are the names that Entry knows, ascending.
func Exports() []string { return slices.Sorted(maps.Keys(goldenKinds)) }

// GoldenExport is what a manifest calls the export that an entry of the module is; "" for
// one that no golden calls.
func GoldenExport(entry string) string {
	for name, kind := range goldenKinds {
		if kind.entry == entry {
			return name
		}
	}
	return ""
}

// ReadGolden reads one golden's files, which are at most MaxGoldenBytes each. Errors are of
// type *GoldenError and name files below origin.
func ReadGolden(origin string, declared abi.ManifestGolden, read func(name string) ([]byte, error)) (Golden, error) {
	goldens, err := goldensOf(origin, abi.Manifest{Goldens: []abi.ManifestGolden{declared}}, read)
	if err != nil {
		return Golden{}, err
	}
	return goldens[0], nil
}

// goldens checks the [[golden]] tables; their files are read by Goldens.
func (c *checker) goldens(m *abi.Manifest) error {
	declared := map[string]int{"tool": len(m.Tools), "context": len(m.Contexts), "provider": len(m.Providers), "transform": len(m.Transforms)}
	for i, golden := range m.Goldens {
		at := fmt.Sprintf("golden[%d].", i)
		if err := c.oneOf(at+"export", golden.Export, slices.Sorted(maps.Keys(goldenKinds))...); err != nil {
			return err
		}
		if table := goldenKinds[golden.Export].table; declared[table] == 0 {
			return c.fail(at+"export", "it is %s, but the plugin declares no [[%s]]", golden.Export, table)
		}
		if !fs.ValidPath(golden.Input) {
			return c.fail(at+"input", "%q is not a file in the plugin's folder", clip(golden.Input))
		}
		if !fs.ValidPath(golden.Output) {
			return c.fail(at+"output", "%q is not a file in the plugin's folder", clip(golden.Output))
		}
	}
	return nil
}

// goldenInput is the form of an input file.
type goldenInput struct {
	Config     json.RawMessage `json:"config"`
	Body       json.RawMessage `json:"body"`
	Operations []struct {
		Op      string          `json:"op"`
		Request json.RawMessage `json:"request"`
		Answer  json.RawMessage `json:"answer"`
		Text    string          `json:"text"`
		Base64  string          `json:"base64"`
	} `json:"operations"`
}

func (g *Golden) read(origin string, read func(name string) ([]byte, error)) error {
	inputFile, outputFile := filepath.Join(origin, g.Input), filepath.Join(origin, g.Output)
	text, err := read(g.Input)
	if err != nil {
		return &GoldenError{File: inputFile, Err: unrecorded(err, false)}
	}
	if err := g.readInput(inputFile, text); err != nil {
		return err
	}
	if g.Answer, err = read(g.Output); err == nil {
		err = checkAnswer(g.Answer)
	}
	if err = unrecorded(err, true); err != nil {
		return &GoldenError{File: outputFile, Err: err}
	}
	return nil
}

// ReadCall reads the text of a golden's input file: settings, body and operations. The
// error, a *GoldenError, calls it file.
func ReadCall(file string, text []byte) (Golden, error) {
	golden := Golden{Input: file}
	err := golden.readInput(file, text)
	return golden, err
}

func (g *Golden) readInput(inputFile string, text []byte) (err error) {
	var input goldenInput
	if err := decodeStrictly(text, &input); err != nil {
		return &GoldenError{File: inputFile, Err: fmt.Errorf("%w; it has config, body and operations", err)}
	}
	if !isObject(input.Body) {
		return &GoldenError{File: inputFile, Field: "body", Err: errors.New("it must be an object, the body of the call as abi/v1 has it")}
	}
	g.Config, g.Body = input.Config, input.Body
	for i, recorded := range input.Operations {
		fail := func(field string, err error) error {
			return &GoldenError{File: inputFile, Field: fmt.Sprintf("operations[%d]%s", i, field), Err: err}
		}
		raw := []byte(recorded.Text)
		if recorded.Base64 != "" {
			if recorded.Text != "" {
				return fail("", errors.New("it has both text and base64; leave one"))
			}
			if raw, err = base64.StdEncoding.DecodeString(recorded.Base64); err != nil {
				return fail(".base64", err)
			}
		}
		switch {
		case recorded.Op == "":
			return fail(".op", errors.New("it is missing; name the operation, for example fs.read"))
		case !isObject(recorded.Request):
			return fail(".request", errors.New("it must be an object"))
		}
		if err := checkAnswer(recorded.Answer); err != nil {
			return fail(".answer", err)
		}
		g.Operations = append(g.Operations, GoldenOperation{Name: recorded.Op, Request: recorded.Request, Answer: abi.EncodeMessage(recorded.Answer, raw)})
	}
	return nil
}

// unrecorded says of a file that is not there how it comes to be.
func unrecorded(err error, output bool) error {
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case output:
		return fmt.Errorf("%w; plinth plugin test --update writes it", err)
	}
	return fmt.Errorf("%w; write the call there, or take the [[golden]] out", err)
}

// decodeStrictly reads one JSON value without unknown fields.
func decodeStrictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind the JSON value")
	}
	return nil
}

func isObject(text json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) }

// checkAnswer demands {"ok": …} or {"error": …}.
func checkAnswer(answer []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(answer, &fields); err != nil {
		return fmt.Errorf("it must be the answer as JSON: %w", err)
	}
	if len(fields) != 1 || fields["ok"] == nil && fields["error"] == nil {
		return errors.New(`it must be {"ok": …} or {"error": …}`)
	}
	return nil
}
