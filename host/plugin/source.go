package plugin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/wasm"
)

// builtinOwner is the owner that only builtins have.
const builtinOwner = "core"

// Candidate is a plugin as it was found, with its manifest read and checked.
type Candidate struct {
	Origin   string // for people: "builtin core/files", or a path
	Builtin  bool
	Manifest abi.Manifest
	Wasm     []byte
}

// Packed reads a plugin that is one file: a module with its manifest inside.
func Packed(origin string, module []byte, builtin bool) (Candidate, error) {
	candidate := Candidate{Origin: origin, Builtin: builtin, Wasm: module}
	info, err := wasm.Inspect(module)
	if err != nil {
		return candidate, fmt.Errorf("%s: %w", origin, err)
	}
	manifest, err := info.Section(abi.ManifestSection)
	if err != nil {
		return candidate, &ManifestError{File: origin, Text: err.Error()}
	}
	if manifest == nil {
		return candidate, &ManifestError{File: origin, Text: fmt.Sprintf(
			"the module has no section %q; pack it with its manifest, or put %s beside it in a folder of its own", abi.ManifestSection, ManifestName)}
	}
	candidate.Manifest, err = DecodeManifest(origin, manifest, nil)
	return candidate, candidate.owned(err)
}

// owned keeps the builtins' owner to the builtins.
func (c Candidate) owned(err error) error {
	if err == nil && !c.Builtin && strings.HasPrefix(c.Manifest.ID, builtinOwner+"/") {
		return &ManifestError{File: c.Origin, Key: "id", Text: fmt.Sprintf("%q is reserved for builtins; use an owner of your own", c.Manifest.ID)}
	}
	return err
}

// Folder reads every plugin in a folder: packed modules, and folders of their own
// with a manifest and one module. What cannot be read is answered as an error
// beside the rest.
func Folder(folder string) ([]Candidate, []error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, []error{fmt.Errorf("plugin folder: %w", err)}
	}
	var found []Candidate
	var failed []error
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		var candidate Candidate
		var err error
		switch {
		case strings.HasPrefix(entry.Name(), "."):
			continue
		case entry.IsDir():
			candidate, err = unpacked(path)
		case filepath.Ext(path) == ".wasm":
			candidate, err = packedFile(path)
		default:
			continue
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		found = append(found, candidate)
	}
	return found, failed
}

func packedFile(path string) (Candidate, error) {
	module, err := readModule(path)
	if err != nil {
		return Candidate{}, err
	}
	return Packed(path, module, false)
}

// unpacked reads a folder with plugin.toml and exactly one module.
func unpacked(folder string) (Candidate, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return Candidate{}, fmt.Errorf("plugin folder: %w", err)
	}
	defer root.Close()
	file := filepath.Join(folder, ManifestName)
	text, err := root.ReadFile(ManifestName)
	if errors.Is(err, os.ErrNotExist) {
		return Candidate{}, &ManifestError{File: file, Text: "it is missing; every plugin folder has one"}
	}
	if err != nil {
		return Candidate{}, &ManifestError{File: file, Text: fmt.Sprintf("it cannot be read: %v", err)}
	}
	manifest, err := DecodeManifest(file, text, root.FS())
	if err != nil {
		return Candidate{}, err
	}
	modules, err := filepath.Glob(filepath.Join(folder, "*.wasm"))
	if err != nil || len(modules) != 1 {
		return Candidate{}, &ManifestError{File: file, Text: fmt.Sprintf("there must be exactly one .wasm file beside it, there are %d", len(modules))}
	}
	module, err := readModule(modules[0])
	if err != nil {
		return Candidate{}, err
	}
	candidate := Candidate{Origin: folder, Manifest: manifest, Wasm: module}
	return candidate, candidate.owned(nil)
}

func readModule(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("plugin module: %w", err)
	}
	if info.Size() > wasm.MaxModuleBytes {
		return nil, fmt.Errorf("plugin module %s has %d bytes, the limit is %d", path, info.Size(), wasm.MaxModuleBytes)
	}
	module, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("plugin module: %w", err)
	}
	return module, nil
}
