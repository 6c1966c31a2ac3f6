package expand

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/session"
)

// maxPrinted bounds what is kept of what a command prints, in bytes.
const maxPrinted = 10 << 20

// Runner runs command lines where sessions work. It decides on nothing. It is a
// session.ShellRunner.
type Runner struct {
	Processes *process.Runner
	// Private folders are Plinth's own; no command works in them.
	Private []string
	// Scrub takes the operator's secrets out of a text.
	Scrub func(text string) string
	// Timeout bounds what a person runs in a session.
	Timeout time.Duration
}

// RunShell runs what a person wants to be run.
func (r *Runner) RunShell(ctx context.Context, command session.ShellCommand) (session.ShellResult, error) {
	return r.run(ctx, command.Session, command.Location, command.Line, r.Timeout)
}

// run answers how a command line ended. Errors say in words for people why it was not run.
func (r *Runner) run(ctx context.Context, id string, location session.Location, line string, timeout time.Duration) (session.ShellResult, error) {
	if now, err := filepath.EvalSymlinks(location.Directory); err != nil || now != location.Directory {
		return session.ShellResult{}, fmt.Errorf("the session's directory %s is not there any more", location.Directory)
	}
	roots, err := fsys.New(map[string]string{rootLocation: location.Directory}, r.Private)
	if err != nil {
		return session.ShellResult{}, err
	}
	file, err := roots.Open(rootLocation, "")
	if err != nil {
		return session.ShellResult{}, err
	}
	defer file.Close()
	handle, err := file.Folder()
	if err != nil {
		return session.ShellResult{}, err
	}
	var output bytes.Buffer
	ended, err := r.Processes.Run(ctx, process.Command{Line: line, Handle: handle, Timeout: timeout, Session: id,
		Output: process.Capture{Save: &output, SaveLimit: maxPrinted}})
	if failed, ok := errors.AsType[*process.Error](err); ok {
		return session.ShellResult{}, failed
	}
	if err != nil {
		return session.ShellResult{}, err
	}
	result := session.ShellResult{Output: r.Scrub(strings.ToValidUTF8(output.String(), "�")), Stopped: stopped(ended, timeout)}
	if dropped := ended.Output.Total - ended.Output.Saved; dropped > 0 {
		result.Output += fmt.Sprintf("\n[%d more bytes were printed and not kept]", dropped)
	}
	if ended.Signal == "" && ended.Stopped == "" {
		result.Exit = &ended.ExitCode
	}
	return result, nil
}

// stopped says why a command did not end by itself, "" when it did.
func stopped(ended process.Result, timeout time.Duration) string {
	switch ended.Stopped {
	case process.Timeout:
		return fmt.Sprintf("It was stopped after %s.", timeout)
	case process.Cancelled:
		return "It was interrupted."
	case process.Flood:
		return "It was stopped because it printed too much."
	case process.Crowd:
		return "It was stopped because it had too many processes."
	}
	if ended.Signal != "" {
		return "It was ended by " + ended.Signal + "."
	}
	return ""
}
