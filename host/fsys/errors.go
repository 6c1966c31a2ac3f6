package fsys

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Kind is the closed set of failures.
type Kind string

// The kinds.
const (
	KindNotFound Kind = "not_found"
	KindDenied   Kind = "denied"
	KindInvalid  Kind = "invalid_input"
	KindConflict Kind = "conflict"
	KindLimit    Kind = "limit"
	KindFailed   Kind = "failed"
)

// Error is a file that could not be opened, listed, searched, read or changed.
type Error struct {
	Kind Kind
	Path string // as the caller wrote it
	Text string // what is wrong, without the path
}

func (e *Error) Error() string { return quote(e.Path) + ": " + e.Text }

// quote shows a path in an error, shortened when it is very long.
func quote(path string) string {
	const most = 200
	if len(path) > most {
		return fmt.Sprintf("%q…", path[:most])
	}
	return fmt.Sprintf("%q", path)
}

// systemError tells what the operating system answered about path.
func systemError(path string, err error) *Error {
	e := &Error{Kind: KindFailed, Path: path}
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		e.Kind, e.Text = KindNotFound, "no such file or directory"
	case errors.Is(err, errProcess):
		e.Kind, e.Text = KindDenied, errProcess.Error()
	case errors.Is(err, errMoved), errors.Is(err, syscall.ELOOP):
		e.Kind, e.Text = KindConflict, errMoved.Error()
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Text = KindDenied, "the operating system does not let Plinth read it"
	case errors.Is(err, syscall.ENAMETOOLONG):
		e.Kind, e.Text = KindInvalid, "a name in the path is longer than the file system allows"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		e.Kind, e.Text = KindLimit, "too many files are open; raise the limit on open files (ulimit -n)"
	case errors.As(err, &errno):
		e.Text = errno.Error()
	default:
		e.Text = err.Error()
	}
	return e
}

// commitError tells what kept path from being changed.
func commitError(path string, err error) *Error {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed
	}
	e := &Error{Path: path}
	switch {
	case errors.Is(err, syscall.EROFS):
		e.Kind, e.Text = KindDenied, "the file system is read-only"
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Text = KindDenied, "the operating system does not let Plinth change it"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		e.Kind, e.Text = KindLimit, "there is no room for it on the disk"
	case errors.Is(err, syscall.EXDEV):
		e.Kind, e.Text = KindInvalid, "the new path is on another file system; write the file there and remove it here"
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.EISDIR):
		e.Kind, e.Text = KindConflict, "something is there by now; look again"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		e.Kind, e.Text = KindConflict, errMoved.Error()
	default:
		return systemError(path, err)
	}
	return e
}

func conflict(path, text string) *Error {
	return &Error{Kind: KindConflict, Path: path, Text: text}
}
