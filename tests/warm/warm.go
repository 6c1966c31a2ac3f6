// Package warm gives tests the machine code of the builtin plugins, which one run of all
// tests makes once: under the race detector a compilation takes seconds.
package warm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Variable names the folder that tests/warm/fill has filled. Without it each package
// compiles for itself.
const Variable = "PLINTH_TEST_CACHE"

// Into makes a cache folder for an engine, with what is compiled already. A folder that
// is there is kept.
func Into(folder string) error {
	filled := os.Getenv(Variable)
	if filled == "" {
		return os.MkdirAll(folder, 0o700)
	}
	return Share(folder, filled)
}

// Share makes a cache folder that holds what another one does. The files are the same, as
// far as they can be: an engine replaces and removes files of a cache, and changes none.
func Share(folder, other string) error {
	err := filepath.WalkDir(other, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(other, path)
		if err != nil {
			return err
		}
		at := filepath.Join(folder, name)
		if entry.IsDir() {
			return os.MkdirAll(at, 0o700)
		}
		return link(path, at)
	})
	if err != nil {
		return fmt.Errorf("warm: %w", err)
	}
	return nil
}

// link gives a file another name, or copies it to another file system.
func link(path, at string) error {
	err := os.Link(path, at)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(at, content, 0o600)
}
