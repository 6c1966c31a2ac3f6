// Package fsys opens, lists, searches and changes files below a few named folders and
// nowhere else.
//
// A path is walked component by component from an open handle of its folder, and no
// component is ever opened through a link: links are read and walked in turn. So the
// file that was checked is the file that is used, whatever is renamed meanwhile. What
// permission is asked on is its identity: the path below the root as the file system
// writes it, without links.
//
// One file: open first, ask on the identity, then use the same handle.
//
//	file, err := roots.Open("location", "docs/readme.md")
//	...
//	file.Identity() // "docs/readme.md", links resolved
//
// Many files: Glob finds names, Grep finds lines. A [Filter] says what the rules make
// of the files of a folder before they are opened; what is denied or would have to be
// asked is left out and counted. [Bounds] limit results, bytes and time; an end of the
// context is an error.
//
//	found, err := roots.Grep(ctx, fsys.GrepQuery{
//		Selection: fsys.Selection{Root: "location", Path: "src", Filter: rules},
//		Pattern:   `func \w+\(`, Include: []string{"*.go"},
//		Bounds:    fsys.Bounds{Limit: 100, Time: 5 * time.Second},
//	})
//
// Changes: Commit prepares all of them, has one decision made on all identities, and
// then makes them without interruption.
//
//	results, err := writer.Commit(ctx, roots, "location", []fsys.Change{
//		{Op: fsys.OpWrite, Path: "a.go", Data: text, Expect: fsys.Digest(old)},
//		{Op: fsys.OpRemove, Path: "b.go"},
//	}, fsys.Permit{Rules: rules, Ask: ask})
//
// Only regular files and directories are used. Plinth's own folders never are, nor is
// /proc. A hard link to a file elsewhere cannot be told from the file itself; it can be
// read, and a write replaces the name and leaves the file elsewhere as it is.
package fsys

import (
	"fmt"
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
	w, err := r.walk(name, path)
	if err != nil {
		return nil, err
	}
	defer w.close()
	found, err := w.resolve(goal{})
	if err != nil {
		return nil, err
	}
	file, err := w.open(found)
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
