package markdown

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// MaxFiles bounds what is read of one folder.
const MaxFiles = 256

// Folder is a folder of files.
type Folder struct {
	Path string // absolute
	// Within is a folder around it that no link may lead out of: the root of a project,
	// which strangers may have written. Empty follows links anywhere.
	Within string
}

// open opens a file or a folder below the folder. Nothing waits for a pipe's other end.
func (f Folder) open(name string) (*os.File, error) {
	path := filepath.Join(f.Path, name)
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	if f.Within == "" {
		return os.OpenFile(path, flags, 0)
	}
	below, err := filepath.Rel(f.Within, path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(f.Within)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile(below, flags, 0)
}

// maxEntries bounds what is looked at in one folder.
const maxEntries = 10_000

// Entries are those of a folder below it, "." for itself, by name.
func (f Folder) Entries(name string) ([]fs.DirEntry, error) {
	folder, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	entries, err := folder.ReadDir(maxEntries)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// missing reports that there is no such file or folder.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Files reads files into values, and remembers them. It is safe for use by several
// goroutines.
type Files[T any] struct {
	parse func(File) (T, error)

	mu    sync.Mutex
	known map[string]remembered[T] // by path
}

// remembered is what a file was read into, as long as it does not change.
type remembered[T any] struct {
	size     int64
	modified time.Time
	value    T
	err      error
}

// maxRemembered bounds the files of all projects that are remembered.
const maxRemembered = 4096

// New makes what reads files into what parse answers of each.
func New[T any](parse func(File) (T, error)) *Files[T] {
	return &Files[T]{parse: parse, known: map[string]remembered[T]{}}
}

// In reads the files of a folder whose names end in .md; or, where each is named, the file
// of that name in every folder below it. They are in the order of their names, and what is
// wrong beside them. A folder that is not there has none.
func (f *Files[T]) In(folder Folder, each string) (values []T, wrong []error) {
	entries, err := folder.Entries(".")
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{&Error{Path: folder.Path, Text: without(err)}}
	}
	read := 0
	for _, entry := range entries {
		name, file := entry.Name(), filepath.Join(entry.Name(), each)
		if each == "" {
			var ok bool
			if name, ok = strings.CutSuffix(name, ".md"); !ok {
				continue
			}
		}
		value, err := f.read(folder, name, file)
		if each != "" && missing(err) {
			continue
		}
		if read++; read > MaxFiles {
			return values, append(wrong, &Error{Path: folder.Path, Text: fmt.Sprintf("has more than %d files; the others are left out", MaxFiles)})
		}
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		values = append(values, value)
	}
	return values, wrong
}

// read answers the value of one file.
func (f *Files[T]) read(folder Folder, name, below string) (value T, err error) {
	path := filepath.Join(folder.Path, below)
	file, err := folder.open(below)
	if err != nil {
		if missing(err) {
			return value, err
		}
		return value, &Error{Path: path, Text: without(err)}
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return value, &Error{Path: path, Text: without(err)}
	case !info.Mode().IsRegular():
		return value, &Error{Path: path, Text: "is not a regular file"}
	}
	f.mu.Lock()
	known, ok := f.known[path]
	f.mu.Unlock()
	if ok && known.size == info.Size() && known.modified.Equal(info.ModTime()) {
		return known.value, known.err
	}
	data, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err != nil {
		return value, &Error{Path: path, Text: without(err)}
	}
	parsed, err := split(name, path, data)
	if err == nil {
		value, err = f.parse(parsed)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.known) >= maxRemembered {
		clear(f.known)
	}
	f.known[path] = remembered[T]{info.Size(), info.ModTime(), value, err}
	return value, err
}
