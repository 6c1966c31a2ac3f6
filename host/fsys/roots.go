// Package fsys opens files below a few named folders and nowhere else.
//
// A path is walked component by component from an open handle of its folder, so
// the file that was checked is the file that is read: open first, look at its
// identity, ask for permission on that identity, then use the same handle.
//
//	file, err := roots.Open("location", "docs/readme.md")
//	...
//	file.Identity() // "docs/readme.md", links resolved
//
// Only regular files and directories open. Plinth's own folders never do. A hard
// link to a file elsewhere cannot be told from the file itself.
package fsys

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

const (
	// maxPath is the longest path a caller may write, in bytes.
	maxPath = 4096
	// maxDepth bounds the directories one walk holds open.
	maxDepth = 128
	// maxLinks bounds the symbolic links one walk follows.
	maxLinks = 40
)

// Roots is a set of named folders. It holds nothing open and is safe for use by
// several goroutines.
type Roots struct {
	folders map[string]string
	deny    []string
}

// New makes a set of roots from absolute folders by name. What lies in deny, a
// list of absolute folders, is never reachable. A folder need not exist yet:
// opening below it answers not_found until it does. The folders themselves are
// trusted; they are resolved anew at every Open.
func New(folders map[string]string, deny []string) (*Roots, error) {
	r := &Roots{folders: make(map[string]string, len(folders))}
	for name, folder := range folders {
		if !filepath.IsAbs(folder) {
			return nil, fmt.Errorf("root %q: the folder %q must be an absolute path", name, folder)
		}
		r.folders[name] = filepath.Clean(folder)
	}
	for _, folder := range deny {
		if !filepath.IsAbs(folder) {
			return nil, fmt.Errorf("denied folder %q must be an absolute path", folder)
		}
		r.deny = append(r.deny, filepath.Clean(folder))
	}
	return r, nil
}

// Open opens the file or directory at path below the root called name. Path is
// relative to the root, or absolute and inside it; "" is the root itself. Errors
// are of type *Error. The caller closes the file.
func (r *Roots) Open(name, path string) (*File, error) {
	folder, ok := r.folders[name]
	if !ok {
		return nil, &Error{Kind: KindDenied, Path: path, Text: fmt.Sprintf("there is no root called %q here", name)}
	}
	if err := checkPath(path); err != nil {
		return nil, err
	}
	canonical, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, systemError(path, err)
	}
	top, err := os.OpenRoot(canonical)
	if err != nil {
		return nil, systemError(path, err)
	}
	w := &walk{
		path: path, folder: folder, canonical: canonical,
		barred: resolveBarred(r.deny),
		dirs:   []*os.Root{top},
	}
	defer w.close()
	file, err := w.open()
	if err != nil {
		return nil, err
	}
	file.roots, file.root = r, name
	return file, nil
}

// checkPath refuses what cannot name a file on any system Plinth runs on, or
// could not be written in a permission rule.
func checkPath(path string) error {
	switch {
	case len(path) > maxPath:
		return &Error{Kind: KindInvalid, Path: path, Text: fmt.Sprintf("the path has %d bytes, more than %d", len(path), maxPath)}
	case strings.ContainsRune(path, 0):
		return &Error{Kind: KindInvalid, Path: path, Text: "the path has a NUL character in it"}
	case !utf8.ValidString(path):
		return &Error{Kind: KindInvalid, Path: path, Text: "the path is not valid UTF-8"}
	}
	return nil
}
