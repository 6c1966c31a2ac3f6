package call

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/author/golden"
)

// Saved are the files of a golden, relative to the plugin's folder.
type Saved struct {
	Input  string `json:"input"`
	Output string `json:"output"`
}

// savedName is what a golden's files can be called.
var savedName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Save writes a call and its answer as a golden: testdata/NAME.json and .out.json in the
// plugin's folder, and a table at the end of plugin.toml. Operations are kept with their
// answers. The path of the folder that files were read from becomes that of Location. What
// is there already is an error, and then nothing is written.
func Save(folder, name, export string, call Call, result Result) (saved Saved, err error) {
	if !savedName.MatchString(name) {
		return saved, fmt.Errorf("%q is no name for a golden: letters, digits, dots, hyphens and underscores, at most 64", name)
	}
	local := func(text json.RawMessage) json.RawMessage { return without(text, call.Folder) }
	input := golden.Input{Config: call.Config, Body: local(call.Body)}
	for _, made := range result.Operations {
		answer, raw, err := abi.DecodeMessage(made.Answer)
		if err != nil {
			return saved, fmt.Errorf("save the answer of %s: %w", made.Name, err)
		}
		operation := golden.Operation{Op: made.Name, Request: local(made.Request), Answer: local(answer)}
		operation.SetRaw(raw)
		input.Operations = append(input.Operations, operation)
	}
	saved = Saved{Input: path.Join("testdata", name+".json"), Output: path.Join("testdata", name+".out.json")}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return saved, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	files := map[string][]byte{}
	for _, file := range []struct {
		name  string
		value any
	}{{saved.Input, input}, {saved.Output, local(result.Answer)}} {
		if _, err := root.Lstat(file.name); !errors.Is(err, fs.ErrNotExist) {
			return saved, fmt.Errorf("%s is there already; save the call under another name", file.name)
		}
		if files[file.name], err = golden.Encode(file.value); err != nil {
			return saved, err
		}
	}
	return saved, golden.Add(root, folder, abi.ManifestGolden{Export: export, Input: saved.Input, Output: saved.Output}, files)
}

// without puts Location in the place of a folder's path.
func without(text json.RawMessage, folder string) json.RawMessage {
	if folder == "" {
		return text
	}
	encoded, err := json.Marshal(folder)
	if err != nil {
		return text
	}
	return bytes.ReplaceAll(text, encoded[1:len(encoded)-1], []byte(Location))
}
