// Package lock reads and writes plinth.lock, the list of plugins that an operator wants
// on a host, each by the digest of its packed file and with what it is granted, and
// plans how a host comes to be as a list says.
package lock

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// Name of the file, which stands beside the operator's configuration.
const Name = "plinth.lock"

// Limits of a file.
const (
	MaxBytes   = 1 << 20
	MaxPlugins = 1000
	maxGrants  = 1000 // of a plugin
)

// schema is the one form of the file that this program knows.
const schema = 1

// File is the list. Encoded it is in the order of ids and locations.
type File struct {
	Schema  int     `toml:"schema"` // 1
	Plugins []Entry `toml:"plugin"`
}

// Entry is one plugin of the list.
type Entry struct {
	ID      string `toml:"id"`      // owner/name
	Version string `toml:"version"` // for people; the digest decides
	Digest  string `toml:"digest"`  // SHA-256 of the packed file, 64 hexadecimal digits
	// Source is where the packed file, or the folder that gives it, is to be had: an
	// absolute path, one that begins with ~/, or an https address.
	Source string `toml:"source"`
	// Grants are the keys of the requests that are granted.
	Grants []string `toml:"grants"`
	// Location is the root of the project whose sessions see it; empty for all.
	Location string `toml:"location,omitempty"`
}

// scope is where a plugin stands.
type scope struct{ id, location string }

func (e Entry) scope() scope { return scope{e.ID, e.Location} }

func compareScopes(a, b scope) int {
	return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.location, b.location))
}

// Read reads a file. Errors are of type *Error; one for a file that is not there wraps
// fs.ErrNotExist.
func Read(path string) (File, error) {
	content, err := read(path)
	if err != nil {
		return File{}, err
	}
	return Decode(path, content)
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{File: path, Text: "it is not there; plinth plugin lock writes one", Err: err}
	case err != nil:
		return nil, &Error{File: path, Text: "it cannot be read: " + reason(err), Err: err}
	case !info.Mode().IsRegular():
		return nil, &Error{File: path, Text: "it is not a regular file"}
	case info.Size() > MaxBytes:
		return nil, tooLarge(path, info.Size())
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, &Error{File: path, Text: "it cannot be read: " + reason(err), Err: err}
	}
	return content, nil
}

func tooLarge(path string, size int64) error {
	return &Error{File: path, Text: fmt.Sprintf("it has %d bytes, the limit is %d", size, MaxBytes)}
}

func reason(err error) string {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err.Error()
	}
	return err.Error()
}

// Encode answers the text of a file. The same list gives the same bytes, in whatever
// order it stands. What Decode would refuse is an error.
func (f File) Encode() ([]byte, error) {
	ordered := File{Schema: schema, Plugins: slices.Clone(f.Plugins)}
	slices.SortFunc(ordered.Plugins, func(a, b Entry) int { return compareScopes(a.scope(), b.scope()) })
	for i, entry := range ordered.Plugins {
		grants := append([]string{}, entry.Grants...)
		slices.Sort(grants)
		ordered.Plugins[i].Grants = slices.Compact(grants)
	}
	var text bytes.Buffer
	text.WriteString("# What plinth plugin sync makes of this host; plinth plugin lock writes it.\n")
	if err := toml.NewEncoder(&text).Encode(ordered); err != nil {
		return nil, fmt.Errorf("encode the list of plugins: %w", err)
	}
	if _, err := Decode(Name, text.Bytes()); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// Write makes or replaces a file, in one step and durably. A link stays one.
func Write(path string, f File) error {
	text, err := f.Encode()
	if err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if err := replace(path, text); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func replace(path string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = errors.Join(file.Chmod(0o644), file.Sync())
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
