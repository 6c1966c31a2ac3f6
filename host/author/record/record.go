package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/author/build"
	"github.com/plinthhost/plinth/host/author/golden"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/wasm"
)

// Options say what becomes of a recording.
type Options struct {
	Folder string // of the plugin, absolute and built
	// Name is what the files in testdata are called; empty for one that is free, of the
	// export and a number.
	Name      string
	Redaction Redaction
	// AsNow records what the plugin answers now, in the place of what it answered then.
	AsNow bool
}

// Recorded is a golden that was made.
type Recorded struct {
	golden.Result
	Replaced Replaced `json:"replaced"`
}

// UnprovedError is a golden that does not hold in the engine; nothing was written.
type UnprovedError struct {
	Result golden.Result
	// Uncertain counts what the recorded call saw of the clock and of randomness, which a
	// golden does not bring back.
	Uncertain int
	// Replaced is what was taken out of it.
	Replaced Replaced
}

func (e *UnprovedError) Error() string {
	text := "the plugin as it is does not come to what was recorded, so nothing is written: " + e.Result.Problem
	if e.Uncertain > 0 {
		text += fmt.Sprintf("; the recorded call asked %d times for the time or for randomness, which a golden does not bring back", e.Uncertain)
	}
	if len(e.Replaced) > 0 {
		text += "; what was taken out (" + e.Replaced.String() + ") may be the reason, too"
	}
	return text + "; with --as-now the answer of now is recorded"
}

// testdata is the folder of the files in a plugin's.
const testdata = "testdata"

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Make makes a golden of a recorded call in a plugin's folder: its two files and a table at
// the end of the manifest, all of them or none. It holds in the engine before that. Errors
// are ErrUnfit, an *UnprovedError, those of build.Look, or about files that are there
// already.
func Make(ctx context.Context, engine *wasm.Engine, call *replay.Recording, options Options) (Recorded, error) {
	built, err := build.Look(options.Folder)
	if err != nil {
		return Recorded{}, err
	}
	if id := built.Candidate.Manifest.ID; id != call.Plugin {
		return Recorded{}, unfit("it is of the plugin %s, and %s is %s", call.Plugin, options.Folder, id)
	}
	d, err := drafted(call, options.Redaction)
	if err != nil {
		return Recorded{}, err
	}
	root, err := os.OpenRoot(options.Folder)
	if err != nil {
		return Recorded{}, err
	}
	defer root.Close()
	declared, err := place(root, options, d.export)
	if err != nil {
		return Recorded{}, err
	}
	files, result, err := prove(ctx, engine, built, declared, d, options.AsNow)
	recorded := Recorded{Result: result, Replaced: d.replaced}
	if err != nil {
		return recorded, err
	}
	return recorded, golden.Add(root, options.Folder, declared, files)
}

// place finds names for the files that are not taken.
func place(root *os.Root, options Options, export string) (abi.ManifestGolden, error) {
	declared := func(name string) abi.ManifestGolden {
		return abi.ManifestGolden{Export: export, Input: path.Join(testdata, name+".json"), Output: path.Join(testdata, name+".out.json")}
	}
	taken := func(golden abi.ManifestGolden) (string, bool) {
		for _, name := range []string{golden.Input, golden.Output} {
			if _, err := root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
				return name, true
			}
		}
		return "", false
	}
	if options.Name != "" {
		if !namePattern.MatchString(options.Name) {
			return abi.ManifestGolden{}, fmt.Errorf("%q is no name for a golden: it has at most 64 letters, digits, dots, hyphens and underscores", options.Name)
		}
		made := declared(options.Name)
		if name, is := taken(made); is {
			return made, fmt.Errorf("%s is there already; choose another --name, or remove it", filepath.Join(options.Folder, name))
		}
		return made, nil
	}
	for n := 1; ; n++ {
		made := declared(fmt.Sprintf("%s-%d", strings.ReplaceAll(export, "_", "-"), n))
		if _, is := taken(made); !is {
			return made, nil
		}
	}
}

// prove holds the golden to the plugin as it is, and answers its files by name.
func prove(ctx context.Context, engine *wasm.Engine, built build.Result, declared abi.ManifestGolden, d draft, asNow bool) (map[string][]byte, golden.Result, error) {
	text, err := golden.Encode(d.input)
	if err != nil {
		return nil, golden.Result{}, err
	}
	files := map[string][]byte{declared.Input: text, declared.Output: []byte(`{"ok":null}`)}
	if d.output != nil {
		if files[declared.Output], err = golden.Encode(d.output); err != nil {
			return nil, golden.Result{}, err
		}
	}
	for name, content := range files {
		if len(content) > plugin.MaxGoldenBytes {
			return nil, golden.Result{}, unfit("%s would have %d bytes, the limit is %d", name, len(content), plugin.MaxGoldenBytes)
		}
	}
	made, err := plugin.ReadGolden(built.Candidate.Origin, declared, func(name string) ([]byte, error) { return files[name], nil })
	if err != nil {
		return nil, golden.Result{}, err
	}
	result, answer, err := golden.Try(ctx, engine, built.Candidate, made, asNow)
	result.Export = declared.Export
	switch {
	case err != nil:
		return nil, result, err
	case !result.Passed && d.output == nil && !asNow:
		return nil, result, unfit("the call came to no answer, so there is none to hold the plugin to; mend the plugin, then record with --as-now what it answers")
	case !result.Passed:
		return nil, result, &UnprovedError{Result: result, Uncertain: d.uncertain, Replaced: d.replaced}
	}
	if asNow {
		files[declared.Output], err = golden.Encode(answer)
	}
	return files, result, err
}
