package scaffold

import (
	"archive/zip"
	"bytes"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// archives are zips made by scripts/sdk of this repository's tree: the SDKs and the
// templates. A Go module cannot be embedded from another one, so they are copies, and
// a test holds them to the tree.
//
//go:embed archives/*.zip
var archives embed.FS

// templatesArchive holds a folder for each template: go-tool.
const templatesArchive = "templates"

// A Source is an archive's files in the repository.
type Source struct {
	Name string // archives/NAME.zip
	// Folders are what it holds, below the names of the archive: "sdk-plugins/go" or, where
	// the two differ, "=plugins/templates".
	Folders []string
	// Files stand in the archive without being in the tree.
	Files map[string]string
}

// Sources lists the archives.
func Sources() []Source {
	return []Source{
		{
			Name: "go", Folders: []string{"abi/v1", "sdk-plugins/go"},
			// The SDK needs nothing of the main module but abi/v1.
			Files: map[string]string{"go.mod": "module github.com/plinthhost/plinth\n\ngo 1.26.0\n"},
		},
		{Name: "rust", Folders: []string{"sdk-plugins/rust"}},
		{Name: "assemblyscript", Folders: []string{"sdk-plugins/assemblyscript"}},
		{Name: templatesArchive, Folders: []string{"=plugins/templates"}},
	}
}

// Pack makes the archive of a source from the repository's tree: without tests of the SDKs
// and what builds leave, uncompressed, in the order of names and without times, so that
// the same tree gives the same bytes.
func (s Source) Pack(tree fs.FS) ([]byte, error) {
	content := map[string][]byte{}
	for name, text := range s.Files {
		content[name] = []byte(text)
	}
	for _, folder := range s.Folders {
		into, from, differ := strings.Cut(folder, "=")
		if !differ {
			from = into
		}
		err := fs.WalkDir(tree, from, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case name != from && s.leavesOut(name, entry):
				if entry.IsDir() {
					return fs.SkipDir
				}
				return nil
			case entry.IsDir():
				return nil
			}
			read, err := fs.ReadFile(tree, name)
			content[path.Join(into, strings.TrimPrefix(strings.TrimPrefix(name, from), "/"))] = read
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("pack %s of the archive %s: %w", from, s.Name, err)
		}
	}
	return zipped(content)
}

// leavesOut reports whether a file or folder is not for authors: what builds leave, and,
// of the SDKs, their own tests.
func (s Source) leavesOut(name string, entry fs.DirEntry) bool {
	base := path.Base(name)
	if entry.IsDir() {
		return base == "target" || base == "node_modules" || base == ".plinth" || s.Name != templatesArchive && (base == "testdata" || base == "tests")
	}
	return path.Ext(base) == ".wasm" || s.Name != templatesArchive && strings.HasSuffix(base, "_test.go")
}

func zipped(content map[string][]byte) ([]byte, error) {
	var packed bytes.Buffer
	writer := zip.NewWriter(&packed)
	for _, name := range sortedNames(content) {
		file, err := writer.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = file.Write(content[name])
		}
		if err != nil {
			return nil, err
		}
	}
	err := writer.Close()
	return packed.Bytes(), err
}

// unpack answers the files of an archive of the program.
func unpack(name string) (map[string][]byte, error) {
	packed, err := archives.ReadFile("archives/" + name + ".zip")
	if err != nil {
		return nil, err
	}
	reader, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		return nil, err
	}
	content := map[string][]byte{}
	for _, file := range reader.File {
		opened, err := file.Open()
		if err != nil {
			return nil, err
		}
		content[file.Name], err = io.ReadAll(opened)
		opened.Close()
		if err != nil {
			return nil, err
		}
	}
	return content, nil
}
