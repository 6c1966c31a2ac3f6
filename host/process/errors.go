package process

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Kind is the closed set of reasons why nothing was run.
type Kind string

// The kinds.
const (
	KindInvalid       Kind = "invalid_input"
	KindDirectory     Kind = "directory" // the working directory is none, or not open to the host
	KindNotFound      Kind = "not_found"
	KindNotExecutable Kind = "not_executable"
	KindBusy          Kind = "busy" // too many at once, here or on the machine
	KindClosed        Kind = "closed"
	KindSandbox       Kind = "sandbox" // it is asked for, and there is none or it cannot be entered
	KindFailed        Kind = "failed"
)

// Error says why nothing was run.
type Error struct {
	Kind  Kind
	Field string // of Command or Options; "" when it is none of them
	Text  string
}

func (e *Error) Error() string {
	if e.Field == "" {
		return "run a command: " + e.Text
	}
	return "run a command: " + e.Field + " " + e.Text
}

// closing is what a closed runner answers, and the cause of what it ends.
func closing() *Error { return &Error{Kind: KindClosed, Text: "the host is shutting down"} }

func invalid(field, format string, args ...any) *Error {
	return &Error{Kind: KindInvalid, Field: field, Text: fmt.Sprintf(format, args...)}
}

// directoryError tells what is wrong with a working directory.
func directoryError(field, directory string, err error) *Error {
	e := &Error{Kind: KindDirectory, Field: field}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Text = fmt.Sprintf("%s does not exist; create it, or give another working directory", quote(directory))
	case errors.Is(err, syscall.ENOTDIR):
		e.Text = fmt.Sprintf("%s is not a directory", quote(directory))
	case errors.Is(err, fs.ErrPermission):
		e.Text = fmt.Sprintf("%s may not be entered by the host's user", quote(directory))
	default:
		e.Text = fmt.Sprintf("%s cannot be used: %v", quote(directory), system(err))
	}
	return e
}

// startError tells why the system did not start a program whose working directory
// is in order.
func startError(program string, err error) *Error {
	e := &Error{Kind: KindFailed, Text: fmt.Sprintf("%s could not be started: %v", quote(program), system(err))}
	say := func(kind Kind, format string, args ...any) {
		e.Kind, e.Text = kind, fmt.Sprintf(format, args...)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		say(KindNotFound, "%s was not found, or the interpreter that its first line names was not", quote(program))
	case errors.Is(err, syscall.ENOEXEC):
		say(KindNotExecutable, "%s is no program for this machine; a script begins with a line like #!/bin/sh", quote(program))
	case errors.Is(err, syscall.ETXTBSY):
		say(KindNotExecutable, "%s is being written by another process", quote(program))
	case errors.Is(err, fs.ErrPermission):
		say(KindNotExecutable, "%s may not be run by the host's user; is it executable?", quote(program))
	case errors.Is(err, syscall.E2BIG):
		say(KindInvalid, "the arguments and the environment are longer than the system takes; pass long text as input or in a file")
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		say(KindBusy, "too many files are open; raise the limit on open files (ulimit -n)")
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		say(KindBusy, "the system has no room for another process (%v)", system(err))
	}
	return e
}

// system answers what the operating system said, without the call and the path.
func system(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}

// quote shows a name in an error, shortened when it is very long.
func quote(name string) string {
	const most = 200
	if len(name) > most {
		return fmt.Sprintf("%q…", name[:most])
	}
	return fmt.Sprintf("%q", name)
}
