package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/registry"
)

// builtinOwner is the owner that only builtins have.
const builtinOwner = "core"

// Candidate is a plugin as it was found, with its manifest read and checked.
type Candidate struct {
	Origin   string // for people: "builtin core/files", or a path
	Builtin  bool
	Manifest abi.Manifest // with Dev only when it was read from a folder
	Wasm     []byte       // the packed file, also when it was read from a folder
	Digest   string       // SHA-256 of Wasm in 64 hexadecimal digits

	native []registry.Contribution // in the place of Wasm
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
	digest := sha256.Sum256(module)
	candidate := Candidate{Origin: origin, Builtin: builtin, Wasm: module, Digest: hex.EncodeToString(digest[:])}
	if len(module) > MaxPackedBytes {
		return candidate, &SourceError{Origin: origin, Err: tooLarge(int64(len(module)), MaxPackedBytes)}
	}
	manifest, err := wasm.Section(module, abi.ManifestSection)
	if err != nil {
		return candidate, &SourceError{Origin: origin, Err: err}
	}
	if manifest == nil {
		return candidate, &ManifestError{File: origin, Text: fmt.Sprintf(
			"the module has no section %q; pack it with its manifest, or put %s beside it in a folder of its own", abi.ManifestSection, ManifestName)}
	}
	if candidate.Manifest, err = DecodeManifest(origin, manifest, nil); err != nil {
		return candidate, err
	}
	if _, err = candidate.files(); err != nil {
		return candidate, &SourceError{Origin: origin, Err: err}
	}
	return candidate, candidate.owned()
}

// owned keeps the builtins' owner to the builtins, and that of servers to them.
func (c Candidate) owned() error {
	if strings.HasPrefix(c.Manifest.ID, serverOwner+"/") {
		return &ManifestError{File: c.Origin, Key: "id", Text: fmt.Sprintf("%q is reserved for MCP servers; use an owner of your own", c.Manifest.ID)}
	}
	if !c.Builtin && strings.HasPrefix(c.Manifest.ID, builtinOwner+"/") {
		return &ManifestError{File: c.Origin, Key: "id", Text: fmt.Sprintf("%q is reserved for builtins; use an owner of your own", c.Manifest.ID)}
	}
	return nil
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
	case !info.IsDir() && filepath.Ext(path) != ".wasm":
		return candidate, false, nil
	}
	candidate, err = At(path)
	return candidate, err == nil, err
}

// At reads the plugin that somebody names: its folder, or its packed file. Errors are
// those of Unpacked.
func At(path string) (Candidate, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Candidate{}, &SourceError{Origin: path, Err: reason(err)}
	case info.IsDir():
		return Unpacked(path)
	}
	module, err := readFile(os.DirFS(filepath.Dir(path)), filepath.Base(path), MaxPackedBytes)
	if err != nil {
		return Candidate{}, &SourceError{Origin: path, Err: err}
	}
	return Packed(path, module, false)
}

// Unpacked reads a folder with plugin.toml and exactly one module, and packs it.
// Nothing outside of the folder is read, whatever links it has. Errors are of type
// *ManifestError, *SourceError or *GoldenError; beside one about what the manifest
// names or stands beside, the candidate has its manifest.
func Unpacked(folder string) (Candidate, error) {
	candidate, _, err := unpack(folder, false)
	return candidate, err
}

// unpack reads a folder. Of a draft, the outputs of goldens that are still to be written
// are answered too.
func unpack(folder string, draft bool) (candidate Candidate, missing []string, err error) {
	candidate.Origin = folder
	root, err := os.OpenRoot(folder)
	if err != nil {
		return candidate, nil, &SourceError{Origin: folder, Err: reason(err)}
	}
	defer root.Close()
	files := root.FS()
	manifest, text, err := manifestIn(folder, files)
	if candidate.Manifest = manifest; err != nil {
		return candidate, nil, err
	}
	module, err := onlyModule(files, manifest.Dev)
	if err != nil {
		return candidate, nil, &SourceError{Origin: folder, Err: err}
	}
	found := unpacked{folder: folder, files: files, manifest: candidate.Manifest, text: text, draft: draft}
	if found.module, err = readModule(files, module); err != nil {
		return candidate, nil, &SourceError{Origin: filepath.Join(folder, module), Err: err}
	}
	packed, missing, err := found.pack()
	if err != nil {
		return candidate, missing, err
	}
	candidate, err = Packed(folder, packed, false)
	candidate.Manifest.Dev = found.manifest.Dev
	return candidate, missing, err
}

// ManifestOf reads the manifest of a plugin's folder, which needs no module yet. Errors
// are of type *ManifestError or *SourceError; beside one about what a readable manifest
// says, the manifest is answered.
func ManifestOf(folder string) (abi.Manifest, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return abi.Manifest{}, &SourceError{Origin: folder, Err: reason(err)}
	}
	defer root.Close()
	manifest, _, err := manifestIn(folder, root.FS())
	return manifest, err
}

// manifestIn answers a folder's manifest, and its text.
func manifestIn(folder string, files fs.FS) (abi.Manifest, []byte, error) {
	path := filepath.Join(folder, ManifestName)
	text, err := readFile(files, ManifestName, MaxManifestBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return abi.Manifest{}, nil, &ManifestError{File: path, Text: "it is missing; every plugin folder has one"}
	}
	if err != nil {
		return abi.Manifest{}, nil, &ManifestError{File: path, Text: fmt.Sprintf("it cannot be read: %v", err)}
	}
	manifest, err := DecodeManifest(path, text, files)
	return manifest, text, err
}

// readModule reads a module that was built, with all that a debugger reads.
func readModule(files fs.FS, name string) ([]byte, error) {
	module, err := readFile(files, name, wasm.MaxFileBytes)
	if large, ok := errors.AsType[*sizeError](err); ok {
		return nil, fmt.Errorf("%w; build it without debug information: --release and strip = true (Rust), -no-debug (TinyGo), -ldflags='-s -w' (Go)", large)
	}
	return module, err
}

// onlyModule finds the one module of a folder.
func onlyModule(files fs.FS, dev *abi.ManifestDev) (string, error) {
	found, err := fs.Glob(files, "[^.]*.wasm")
	switch {
	case err != nil:
		return "", reason(err)
	case len(found) == 0 && dev != nil && dev.Build != "":
		return "", fmt.Errorf("there is no .wasm file beside %s; its [dev] build must leave it there, and plinth plugin build runs that: %q", ManifestName, clip(dev.Build))
	case len(found) == 0:
		return "", fmt.Errorf("there is no .wasm file beside %s; build the plugin, and say how in [dev] build", ManifestName)
	case len(found) > 1:
		return "", fmt.Errorf("there are %d .wasm files beside %s, %s; leave one", len(found), ManifestName, strings.Join(found, ", "))
	}
	return found[0], nil
}

// readFile reads a regular file of at most limit bytes. Errors do not name it.
func readFile(files fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(files, name) // first: opening a pipe would wait for its other end
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist) && isLink(files, name):
		return nil, fmt.Errorf("it is a link that cannot be followed within the plugin's folder (%w); put the file itself there", reason(err))
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

func isLink(files fs.FS, name string) bool {
	info, err := fs.Lstat(files, name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// sizeError is something with more bytes than it may have.
type sizeError struct{ size, limit int64 }

func (e *sizeError) Error() string {
	return fmt.Sprintf("it has %d bytes, the limit is %d", e.size, e.limit)
}

func tooLarge(size, limit int64) error { return &sizeError{size, limit} }

// reason is a file's error without its path, which the caller names.
func reason(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}
