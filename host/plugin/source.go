package plugin

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// SourceError is a plugin that could not be read from where it was looked for.
type SourceError struct {
	Origin string
	Err    error
}

func (e *SourceError) Error() string { return e.Origin + ": " + e.Err.Error() }
func (e *SourceError) Unwrap() error { return e.Err }

// Packed reads a plugin that is one file: a module with its manifest inside. Errors
// are of type *ManifestError or *SourceError.
func Packed(origin string, module []byte, builtin bool) (Candidate, error) {
	candidate := Candidate{Origin: origin, Builtin: builtin, Wasm: module}
	manifest, err := wasm.Section(module, abi.ManifestSection)
	if err != nil {
		return candidate, &SourceError{Origin: origin, Err: err}
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
// with a manifest and one module. Links to either are followed. What cannot be read
// is answered as an error beside the rest, of type *ManifestError or *SourceError.
func Folder(folder string) ([]Candidate, []error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, []error{&SourceError{Origin: folder, Err: reason(err)}}
	}
	var found []Candidate
	var failed []error
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		candidate, ok, err := one(filepath.Join(folder, entry.Name()))
		switch {
		case err != nil:
			failed = append(failed, err)
		case ok:
			found = append(found, candidate)
		}
	}
	return found, failed
}

// one reads what is at path; ok is false when it is no plugin.
func one(path string) (candidate Candidate, ok bool, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return candidate, false, &SourceError{Origin: path, Err: reason(err)}
	case info.IsDir():
		candidate, err = Unpacked(path)
		return candidate, true, err
	case filepath.Ext(path) != ".wasm":
		return candidate, false, nil
	}
	module, err := readFile(os.DirFS(filepath.Dir(path)), filepath.Base(path), wasm.MaxModuleBytes)
	if err != nil {
		return candidate, false, &SourceError{Origin: path, Err: err}
	}
	candidate, err = Packed(path, module, false)
	return candidate, true, err
}

// Unpacked reads a folder with plugin.toml and exactly one module. Nothing outside
// of the folder is read, whatever links it has.
func Unpacked(folder string) (Candidate, error) {
	candidate := Candidate{Origin: folder}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return candidate, &SourceError{Origin: folder, Err: reason(err)}
	}
	defer root.Close()
	files := root.FS()
	if candidate.Manifest, err = manifestIn(folder, files); err != nil {
		return candidate, err
	}
	module, err := onlyModule(files)
	if err != nil {
		return candidate, &SourceError{Origin: folder, Err: err}
	}
	if candidate.Wasm, err = readFile(files, module, wasm.MaxModuleBytes); err != nil {
		return candidate, &SourceError{Origin: filepath.Join(folder, module), Err: err}
	}
	return candidate, candidate.owned(nil)
}

func manifestIn(folder string, files fs.FS) (abi.Manifest, error) {
	path := filepath.Join(folder, ManifestName)
	text, err := readFile(files, ManifestName, MaxManifestBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return abi.Manifest{}, &ManifestError{File: path, Text: "it is missing; every plugin folder has one"}
	}
	if err != nil {
		return abi.Manifest{}, &ManifestError{File: path, Text: fmt.Sprintf("it cannot be read: %v", err)}
	}
	return DecodeManifest(path, text, files)
}

func onlyModule(files fs.FS) (string, error) {
	found, err := fs.Glob(files, "[^.]*.wasm")
	switch {
	case err != nil:
		return "", reason(err)
	case len(found) == 0:
		return "", fmt.Errorf("there is no .wasm file beside %s; build the plugin", ManifestName)
	case len(found) > 1:
		return "", fmt.Errorf("there are %d .wasm files beside %s, %s; leave one", len(found), ManifestName, strings.Join(found, ", "))
	}
	return found[0], nil
}

// readFile reads a regular file of at most limit bytes. Errors do not name it.
func readFile(files fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(files, name) // first: opening a pipe would wait for its other end
	switch {
	case err != nil:
		return nil, reason(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > limit:
		return nil, tooLarge(info.Size(), limit)
	}
	file, err := files.Open(name)
	if err != nil {
		return nil, reason(err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return nil, reason(err)
	case int64(len(content)) > limit:
		return nil, tooLarge(int64(len(content)), limit)
	}
	return content, nil
}

func tooLarge(size, limit int64) error {
	return fmt.Errorf("it has %d bytes, the limit is %d", size, limit)
}

// reason is a file's error without its path, which the caller names.
func reason(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}
