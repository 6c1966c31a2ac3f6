package fsys

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// File is an open regular file or directory. Its identity was settled when it
// was opened and does not follow a later rename. It may be read, but not listed,
// by several goroutines at once.
type File struct {
	handle *os.File
	id     fileID
	info   Info
	path   string // as the caller wrote it
	folder string // the root's canonical folder
	barred barred
	roots  *Roots
	root   string
}

// Info describes a file as it was when it was opened or listed.
type Info struct {
	// Path is the identity: relative to the root, slashes, no links, "." for the
	// root. For a listed link it is what the link leads to.
	Path      string
	Name      string
	Directory bool
	Size      int64 // bytes; 0 for a directory
	Modified  time.Time
}

func infoOf(identity, name string, stat *unix.Stat_t) Info {
	i := Info{Path: identity, Name: name, Directory: kindOf(stat) == unix.S_IFDIR, Modified: time.Unix(stat.Mtim.Unix())}
	if !i.Directory {
		i.Size = stat.Size
	}
	return i
}

// Identity is the canonical path relative to the root: what permission is asked on.
func (f *File) Identity() string { return f.info.Path }

// Info describes the file.
func (f *File) Info() Info { return f.info }

// Folder is the open directory, for a program to work in. It is closed with the file.
func (f *File) Folder() (*os.File, error) {
	if !f.info.Directory {
		return nil, &Error{Kind: KindInvalid, Path: f.path, Text: "it is a file; name a directory"}
	}
	return f.handle, nil
}

// ReadAt reads up to len(p) bytes from offset. At the end of the file it answers
// what there is and io.EOF. Errors are io.EOF or of type *Error.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	if f.info.Directory {
		return 0, &Error{Kind: KindInvalid, Path: f.path, Text: "it is a directory; list it instead"}
	}
	if offset < 0 {
		return 0, &Error{Kind: KindInvalid, Path: f.path, Text: "the offset is negative"}
	}
	n, err := f.handle.ReadAt(p, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		err = systemError(f.path, err)
	}
	return n, err
}

// Close releases the file; a second call does nothing.
func (f *File) Close() error {
	if err := f.handle.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return systemError(f.path, err)
	}
	return nil
}
