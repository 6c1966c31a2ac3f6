package fsys

import (
	"os"
	"path/filepath"
)

// Place is a working directory with the project it belongs to.
type Place struct {
	Directory string // absolute, links resolved
	Root      string // the nearest folder at or above Directory that holds .git; else Directory
	Git       bool
}

// FindPlace resolves a working directory. Errors are of type *Error.
func FindPlace(directory string) (Place, error) {
	if !filepath.IsAbs(directory) {
		return Place{}, &Error{Kind: KindInvalid, Path: directory, Text: "a session's directory must be an absolute path"}
	}
	canonical, err := filepath.EvalSymlinks(directory)
	if err != nil {
		return Place{}, systemError(directory, err)
	}
	info, err := os.Stat(canonical)
	if err != nil {
		return Place{}, systemError(directory, err)
	}
	if !info.IsDir() {
		return Place{}, &Error{Kind: KindInvalid, Path: directory, Text: "it is a file; a session works in a directory"}
	}
	for folder := canonical; ; folder = filepath.Dir(folder) {
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			return Place{Directory: canonical, Root: folder, Git: true}, nil
		}
		if folder == filepath.Dir(folder) {
			return Place{Directory: canonical, Root: canonical}, nil
		}
	}
}
