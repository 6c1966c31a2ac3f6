package plugin

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/plinthhost/plinth/abi/pack"
	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/wasm"
)

// Limits of a packed plugin. What keeps to those of its parts keeps to the whole.
const (
	MaxPackedBytes = wasm.MaxFileBytes
	MaxFilesBytes  = 6 << 20 // of the files that a manifest names, together
)

// Pack makes one file of a plugin's folder: the module with its manifest, in which its
// schemas are, and with the files of its goldens. The same folder gives the same bytes.
// Errors are those of Unpacked and Candidate.Goldens.
func Pack(folder string) ([]byte, error) {
	candidate, err := Unpacked(folder)
	if err != nil {
		return nil, err
	}
	if _, err := candidate.Goldens(); err != nil {
		return nil, err
	}
	return candidate.Wasm, nil
}

// unpacked is what a plugin's folder has.
type unpacked struct {
	folder   string
	files    fs.FS
	manifest abi.Manifest
	text     []byte // of the manifest
	module   []byte
	draft    bool // outputs of goldens may be missing
}

// pack answers the packed file, and the outputs that a draft lacks.
func (u unpacked) pack() (packed []byte, missing []string, err error) {
	if _, err := wasm.Section(u.module, abi.ManifestSection); err != nil {
		return nil, nil, &SourceError{Origin: u.folder, Err: err}
	}
	schemas := func(name string) ([]byte, error) { return readFile(u.files, name, MaxManifestBytes) }
	manifest, err := pack.Inlined(u.text, schemas, "dev")
	switch {
	case err != nil:
		return nil, nil, &ManifestError{File: filepath.Join(u.folder, ManifestName), Text: err.Error()}
	case len(manifest) > MaxPackedManifestBytes:
		return nil, nil, &ManifestError{File: filepath.Join(u.folder, ManifestName), Text: fmt.Sprintf(
			"with its schemas it has %d bytes, the limit is %d; shorten them", len(manifest), MaxPackedManifestBytes)}
	}
	files, missing, err := u.goldens()
	if err != nil {
		return nil, nil, err
	}
	if err := checkFiles(files); err != nil {
		return nil, nil, &SourceError{Origin: u.folder, Err: err}
	}
	packed, err = pack.WithSections(u.module, pack.Section{Name: abi.ManifestSection, Content: manifest},
		pack.Section{Name: abi.FilesSection, Content: pack.EncodeFiles(files)})
	if err != nil {
		return nil, nil, &SourceError{Origin: u.folder, Err: err}
	}
	return packed, missing, nil
}

// unwritten stands for an answer that nobody has recorded.
const unwritten = `{"ok":null}`

// goldens answers the files of the goldens.
func (u unpacked) goldens() (files map[string][]byte, missing []string, err error) {
	files = map[string][]byte{}
	for _, golden := range u.manifest.Goldens {
		for _, name := range []string{golden.Input, golden.Output} {
			content, err := readFile(u.files, name, MaxGoldenBytes)
			if u.draft && name == golden.Output && (err != nil || checkAnswer(content) != nil) {
				content, err = []byte(unwritten), nil
				missing = append(missing, name)
			}
			if err != nil {
				return nil, nil, &GoldenError{File: filepath.Join(u.folder, name), Err: unrecorded(err, name == golden.Output)}
			}
			files[name] = content
		}
	}
	return files, missing, nil
}

// files answers the packed files by name, which include all that the manifest names.
func (c Candidate) files() (map[string][]byte, error) {
	section, err := wasm.Section(c.Wasm, abi.FilesSection)
	if err != nil {
		return nil, err
	}
	files, err := pack.DecodeFiles(section)
	if err != nil {
		return nil, fmt.Errorf("%w; pack the plugin anew", err)
	}
	for _, golden := range c.Manifest.Goldens {
		for _, name := range []string{golden.Input, golden.Output} {
			if _, ok := files[name]; !ok {
				return nil, fmt.Errorf("the module has no file %s in its section %q, which a [[golden]] names; pack the plugin anew", name, abi.FilesSection)
			}
		}
	}
	return files, checkFiles(files)
}

// checkFiles holds files to their limits.
func checkFiles(files map[string][]byte) error {
	total := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if len(files[name]) > MaxGoldenBytes {
			return fmt.Errorf("%s: %w", name, tooLarge(int64(len(files[name])), MaxGoldenBytes))
		}
		total += len(name) + len(files[name])
	}
	if total > MaxFilesBytes {
		return fmt.Errorf("the files of its goldens have %d bytes together, the limit is %d; record less", total, MaxFilesBytes)
	}
	return nil
}
