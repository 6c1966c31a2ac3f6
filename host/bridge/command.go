package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/host/shell"
	"github.com/plinthhost/plinth/host/trust"
	"github.com/plinthhost/plinth/session"
)

// Limits of process.run.
const (
	MaxCommandBytes   = 64 << 10 // with its environment
	MaxInputBytes     = 1 << 20
	MaxCommandTimeout = 10 * time.Minute
	maxSavedOutput    = 10 << 20
)

// processRun runs a command line once every command in it is allowed. While it
// runs, the guest makes room.
func (o *operations) processRun(ctx context.Context, request abi.ProcessRun, _ []byte) (any, []byte, error) {
	if !o.reach.Process {
		return nil, nil, o.noGrant("process", grantProcess, func(r trust.RequestRecord) bool { return r.Kind == trust.KindProcess })
	}
	if err := checkCommand(request); err != nil {
		return nil, nil, err
	}
	timeout := time.Duration(request.TimeoutMS) * time.Millisecond
	at, err := o.workingDirectory(ctx, request.Path)
	if err != nil {
		return nil, nil, err
	}
	defer at.Close()
	directory := filepath.Join(at.path, filepath.FromSlash(at.Identity()))
	if err := o.mayRun(ctx, exported(request.Environment)+request.Command, fed(request.Input), directory); err != nil {
		return nil, nil, err
	}
	// It may have taken long to ask, and what is asked for is its path.
	if now, err := filepath.EvalSymlinks(directory); err != nil || now != directory {
		return nil, nil, refuse(abi.KindConflict, "path: %q is not the directory any more that was asked for", clip(request.Path.Path))
	}
	handle, err := at.Folder()
	if err != nil {
		return nil, nil, fileError(err)
	}
	saved := []*bytes.Buffer{new(bytes.Buffer), new(bytes.Buffer)}
	command := process.Command{
		Line: request.Command, Handle: handle, Environment: request.Environment, Input: []byte(request.Input),
		Timeout: timeout, Session: o.session.ID, Project: o.location.Root,
		Output:   process.Capture{Apart: request.Apart, Save: saved[0], SaveLimit: maxSavedOutput},
		Progress: func(p process.Progress) { o.progress(clean(o.reach.scrub(p.Lines))) },
	}
	if request.Apart {
		command.Output.SaveErrors = saved[1]
	}
	var result process.Result
	err = wait(ctx, func(ctx context.Context) (err error) {
		result, err = o.reach.Processes.Run(ctx, command)
		return err
	})
	if err != nil {
		return nil, nil, commandError(err)
	}
	if result.Stopped == process.Cancelled {
		return nil, nil, fmt.Errorf("run the command: %w", session.ErrInterrupted)
	}
	return o.ran(ctx, request, result, saved)
}

// sandboxNote says what else there is to know of the sandbox.
func sandboxNote(c process.Confinement) string {
	if c.NoNetwork {
		return "TCP connections and listeners are refused"
	}
	return c.Reason
}

func (o *operations) ran(ctx context.Context, request abi.ProcessRun, result process.Result, saved []*bytes.Buffer) (any, []byte, error) {
	ran := abi.ProcessRan{ExitCode: result.ExitCode, Signal: result.Signal, Stopped: string(result.Stopped),
		DurationMS: result.Duration.Milliseconds(), Background: result.Background,
		Sandbox: result.Sandbox.Kind, SandboxNote: sandboxNote(result.Sandbox)}
	var err error
	if ran.Output, err = o.output(ctx, result.Output, saved[0].Bytes()); err != nil {
		return nil, nil, err
	}
	if request.Apart {
		if ran.Errors, err = o.output(ctx, result.Errors, saved[1].Bytes()); err != nil {
			return nil, nil, err
		}
	}
	return ran, nil, nil
}

// output keeps the whole of what is shown in part.
func (o *operations) output(ctx context.Context, printed process.Output, whole []byte) (abi.ProcessOutput, error) {
	output := abi.ProcessOutput{Head: o.reach.scrub(printed.Head), Tail: o.reach.scrub(printed.Tail), Omitted: printed.Omitted, Total: printed.Total}
	if printed.Omitted == 0 {
		return output, nil
	}
	if o.reach.Scrubber != nil {
		whole = o.reach.Scrubber.ScrubBytes(whole)
	}
	blob, err := o.keep(ctx, whole)
	output.Blob = &blob
	if err != nil || o.reach.Kept == nil {
		return output, err
	}
	if output.Path, err = o.reach.Kept.Keep(ctx, o.session.ID, string(whole)); err != nil {
		o.plugin.Log("warn", fmt.Sprintf("the output of a command: %v", err))
	}
	return output, nil
}

// workingDirectory opens a command's directory. The session's own needs no grant for
// files.
func (o *operations) workingDirectory(ctx context.Context, name abi.Path) (opened, error) {
	if name == (abi.Path{}) {
		roots, err := fsys.New(map[string]string{RootLocation: o.location.Directory}, o.reach.Private)
		if err != nil {
			return opened{}, err
		}
		file, err := roots.Open(RootLocation, "")
		if err != nil {
			return opened{}, fileError(err)
		}
		return opened{File: file, folder: folder{roots: roots, name: RootLocation, path: o.location.Directory, location: o.location}}, nil
	}
	file, err := o.open(ctx, name)
	if err != nil {
		return opened{}, err
	}
	if !file.Info().Directory {
		file.Close()
		return opened{}, refuse(abi.KindInvalidInput, "path: %q is no directory", clip(name.Path))
	}
	return file, nil
}

// checkCommand refuses what could not be run, or not be asked for as it is.
func checkCommand(request abi.ProcessRun) error {
	most := MaxCommandTimeout.Milliseconds()
	size := len(request.Command)
	for name, value := range request.Environment {
		if !variableForm.MatchString(name) {
			return refuse(abi.KindInvalidInput, "environment: %q is no name of a variable; it must have letters, digits and _", clip(name))
		}
		size += len(name) + len(value)
	}
	switch {
	case size > MaxCommandBytes:
		return refuse(abi.KindLimit, "command and environment have %d bytes; the most is %d", size, MaxCommandBytes)
	case len(request.Input) > MaxInputBytes:
		return refuse(abi.KindLimit, "input has %d bytes; the most is %d", len(request.Input), MaxInputBytes)
	case request.TimeoutMS < 0 || request.TimeoutMS > most:
		return refuse(abi.KindInvalidInput, "timeout_ms is %d; it must be from 1 to %d, or 0", request.TimeoutMS, most)
	}
	return nil
}

// variableForm is what a shell takes for a variable's name. Any other name would
// change how the text that is asked for reads.
var variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// fed shows the beginning of what a command reads, which is all that some run.
func fed(input string) string {
	if input == "" {
		return ""
	}
	shown := fmt.Sprintf(" <<< '%s'", strings.ReplaceAll(clipTo(input, maxText), "'", `'\''`))
	if len(input) > maxText {
		shown += fmt.Sprintf(" (of %d bytes)", len(input))
	}
	return shown
}

// exported writes variables in front of a line as what they are: they can change what
// its commands do.
func exported(environment map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		fmt.Fprintf(&text, "export %s='%s'; ", name, strings.ReplaceAll(environment[name], "'", `'\''`))
	}
	return text.String()
}

// mayRun asks for the folders that the line leads to outside of the project, and for
// its commands. What cannot be known is asked for as it is written, with what it is
// fed, and only once.
func (o *operations) mayRun(ctx context.Context, text, fed, directory string) error {
	line := shell.Parse(text, shell.Options{Directory: directory, Home: o.reach.Home, Shell: filepath.Base(o.reach.Processes.Shell())})
	needs, err := line.Needs(text+fed, o.location.Directory, o.location.Root)
	if err != nil {
		return fmt.Errorf("follow the paths of the command: %w", err)
	}
	folders := slices.DeleteFunc(slices.Clone(needs.Folders), func(folder string) bool { return folder == directory+"/*" }) // asked for when it was opened
	if err := o.external(ctx, folders); err != nil {
		return err
	}
	if len(needs.Unnamed) > 0 {
		if err := o.asked.authorise(ctx, actionExternal, needs.Unnamed, nil); err != nil {
			return err
		}
	}
	return o.asked.authorise(ctx, actionBash, needs.Commands, needs.Save)
}

// commandError puts the reasons why nothing was run into the closed set.
func commandError(err error) error {
	failed, ok := errors.AsType[*process.Error](err)
	if !ok {
		return err
	}
	kinds := map[process.Kind]abi.Kind{
		process.KindInvalid: abi.KindInvalidInput, process.KindDirectory: abi.KindNotFound, process.KindNotFound: abi.KindNotFound,
		process.KindNotExecutable: abi.KindFailed, process.KindBusy: abi.KindLimit, process.KindClosed: abi.KindUnavailable,
		process.KindSandbox: abi.KindUnavailable,
	}
	kind, ok := kinds[failed.Kind]
	if !ok {
		kind = abi.KindFailed
	}
	return &abi.Error{Kind: kind, Message: failed.Error()}
}
