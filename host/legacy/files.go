package legacy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Limits of what is read.
const (
	MaxFile     = 64 << 20 // bytes of one file
	MaxMessages = 100_000  // of a session
	MaxParts    = 10_000   // of a message
	// MaxSession bounds what one session's files have together, in bytes.
	MaxSession = 512 << 20
)

// newest is the version of the storage that is known: the number of migrations.
const newest = 2

// FileError is a file that cannot be used.
type FileError struct {
	File   string // below the storage's folder
	Field  string // empty for the file as a whole
	Reason string
}

func (e *FileError) Error() string {
	if e.Field != "" {
		return fmt.Sprintf("%s: %s: %s", e.File, e.Field, e.Reason)
	}
	return e.File + ": " + e.Reason
}

// files reads below one folder.
type files struct {
	root *os.Root
	left int64 // bytes that may still be read of this session
}

var fileName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

// list answers the names in a folder, ascending; none when it is not there. Names end in
// suffix, which is cut off.
func (f *files) list(folder, suffix string, most int) (names []string, err error) {
	if there, err := f.plain(folder, true); err != nil || !there {
		return nil, err
	}
	opened, err := f.root.Open(folder)
	if err != nil {
		return nil, &FileError{File: folder, Reason: err.Error()}
	}
	defer opened.Close()
	for {
		entries, err := opened.ReadDir(256)
		for _, entry := range entries {
			name, ends := strings.CutSuffix(entry.Name(), suffix)
			if !ends {
				continue // a lock, or a file that was being written
			}
			if !fileName.MatchString(name) {
				return nil, &FileError{File: path.Join(folder, clip(entry.Name())), Reason: "the name is none of the storage's"}
			}
			if names = append(names, name); len(names) > most {
				return nil, &FileError{File: folder, Reason: fmt.Sprintf("it has more than %d files, the limit", most)}
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, &FileError{File: folder, Reason: err.Error()}
		}
	}
	slices.Sort(names)
	return names, nil
}

// plain reports whether something is there, and refuses what is no file, or no folder,
// of its own: links most of all.
func (f *files) plain(name string, folder bool) (bool, error) {
	for at := range name {
		if name[at] == '/' {
			if there, err := f.plainOne(name[:at], true); err != nil || !there {
				return there, err
			}
		}
	}
	return f.plainOne(name, folder)
}

func (f *files) plainOne(name string, folder bool) (bool, error) {
	info, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, &FileError{File: name, Reason: err.Error()}
	case folder && !info.IsDir():
		return false, &FileError{File: name, Reason: "it is no folder; links are not followed"}
	case !folder && !info.Mode().IsRegular():
		return false, &FileError{File: name, Reason: "it is no plain file; links are not followed"}
	}
	return true, nil
}

// read decodes a file; false when there is none. Fields that are not known are left.
func (f *files) read(name string, into any) (there bool, err error) {
	if there, err := f.plain(name, false); err != nil || !there {
		return false, err
	}
	file, err := f.root.Open(name)
	if err != nil {
		return false, &FileError{File: name, Reason: err.Error()}
	}
	content, err := io.ReadAll(io.LimitReader(file, min(MaxFile, f.left)+1))
	if err := errors.Join(err, file.Close()); err != nil {
		return false, &FileError{File: name, Reason: err.Error()}
	}
	switch size := int64(len(content)); {
	case size > MaxFile:
		return false, &FileError{File: name, Reason: fmt.Sprintf("it has more than %d bytes, the limit of a file", int64(MaxFile))}
	case size > f.left:
		return false, &FileError{File: name, Reason: fmt.Sprintf("the session's files have more than %d bytes, the limit", int64(MaxSession))}
	default:
		f.left -= size
	}
	if err := json.Unmarshal(content, into); err != nil {
		return false, malformed(name, err)
	}
	return true, nil
}

func malformed(name string, err error) error {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind):
		return &FileError{File: name, Field: kind.Field, Reason: fmt.Sprintf("it is a JSON %s; %s must be here", kind.Value, kind.Type)}
	case errors.As(err, &syntax):
		return &FileError{File: name, Reason: fmt.Sprintf("it is no JSON, at byte %d: %v", syntax.Offset, err)}
	}
	return &FileError{File: name, Reason: "it is no JSON: " + err.Error()}
}
