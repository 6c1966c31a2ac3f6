package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// grace is how long what a command was ended with may keep its output open.
const grace = 2 * time.Second

// CommandError is a command of [dev] that failed. What it had to say is in its output.
type CommandError struct {
	Key     string // of the manifest: dev.build or dev.test
	Command string
	Folder  string // in which it ran
	Code    int    // its exit status; -1 when a signal ended it or it did not start
	Err     error
}

func (e *CommandError) Error() string {
	if e.Code < 0 {
		return fmt.Sprintf("%s: `%s` in %s did not come to an end: %v", e.Key, e.Command, e.Folder, e.Err)
	}
	hint := "what it printed says why"
	if e.Code == notFound {
		hint = "sh knows no such program; plinth plugin doctor says how to install it, or correct PATH"
	}
	return fmt.Sprintf("%s: `%s` in %s ended with exit status %d; %s", e.Key, e.Command, e.Folder, e.Code, hint)
}

func (e *CommandError) Unwrap() error { return e.Err }

// notFound is the exit status of sh for a program that is not there.
const notFound = 127

// Command runs a command of [dev] by sh -c in a plugin's folder, without input and with
// these variables beside the process's own. Both of its outputs go to output as they are.
// Key names it in errors, which are of type *CommandError. When ctx ends, the command and
// all that it started are ended, and the error is the cause.
func Command(ctx context.Context, folder, key, command string, variables []string, output io.Writer) error {
	child := exec.CommandContext(ctx, "sh", "-c", command)
	child.Dir = folder
	child.Env = append(os.Environ(), variables...)
	child.Stdout, child.Stderr = output, output // one stream: exec copies it on one goroutine
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	child.Cancel = func() error { return endGroup(child) }
	child.WaitDelay = grace
	err := child.Run()
	if child.Process != nil && (ctx.Err() != nil || errors.Is(err, exec.ErrWaitDelay)) {
		_ = endGroup(child) // what the shell left behind
	}
	switch exit, exited := errors.AsType[*exec.ExitError](err); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		return nil
	case exited:
		return &CommandError{Key: key, Command: command, Folder: folder, Code: exit.ExitCode(), Err: err}
	case errors.Is(err, exec.ErrWaitDelay):
		err = errors.New("it left a process behind that kept its output open; have it wait for what it starts")
	}
	return &CommandError{Key: key, Command: command, Folder: folder, Code: -1, Err: err}
}

// endGroup ends a command with all that it started.
func endGroup(command *exec.Cmd) error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
