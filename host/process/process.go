// Package process runs programs and shell command lines, and ends what they leave
// behind.
//
//	runner, err := process.New(process.Options{})
//	...
//	defer runner.Close()
//	result, err := runner.Run(ctx, process.Command{Line: "make test", Directory: "/home/me/project"})
//
// An error means that nothing was run. Once a program has started there is a
// [Result], however it ended.
//
// A command has no terminal, no descriptors of the host but its three, few of the
// host's variables and none that looks like a secret, and a process session of its
// own (setsid(2)). All processes of that session end with the call: at a timeout
// or cancel by SIGTERM and, after a grace, SIGKILL; when the program ends by
// itself, what it left in the background goes the same way.
//
// What cannot be had without more than the system gives every user:
//   - A process that leaves the session, like one started by setsid, outlives the
//     call. It no longer holds the call up, and what it prints is lost.
//   - A process of another user, like one started by sudo, cannot be signalled. It
//     is left and counted as a survivor; so is one that hangs in the kernel.
//   - The number of processes is counted four times a second and all are killed
//     above the limit, so a fork bomb may overshoot it for that long. A bomb whose
//     processes each begin a session is not counted. RLIMIT_NPROC would count all
//     processes of the user, the host's and the desktop's too, and none of root's:
//     where the host must survive hostile commands, run it under a user or a
//     container with a limit of its own.
//   - When the host is killed itself the program is killed too on Linux, but not the
//     processes that the program started. On macOS nothing is.
//
// It does not judge a command. Whoever calls it has asked for permission. A command
// with a Project runs in the sandbox of the options, which bounds what it writes, on
// Linux by Landlock. What Landlock does not bound are reads, modes, owners, times and
// extended attributes of files, and what other programs do that the command asks over
// a socket. Programs get no rights there that their user has not, so sudo fails.
package process

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"
)

// Options says how commands run. The zero value is usable.
type Options struct {
	// Shell runs command lines: a name or an absolute path. "" is bash where PATH has
	// one, else /bin/sh. It reads no start-up files.
	Shell string
	// Inherit names variables of the host that commands see besides the usual ones:
	// NAME, or PREFIX_* for all that begin so. A name that looks like a secret's is
	// refused; behind a prefix it is left out.
	Inherit []string
	// Withhold names variables of the host that no command sees: those that hold
	// secrets, like the ones references env:NAME name.
	Withhold []string
	// Running bounds the commands that run at once. 0 is 16.
	Running int
	// Waiting bounds the calls that wait until one of them has ended. 0 is 256.
	Waiting int
	// Processes bounds the processes of one command. 0 is 512.
	Processes int
	// Grace is the time between SIGTERM and SIGKILL. 0 is 3 s.
	Grace time.Duration
	// Sandbox confines the commands that have a Project. The zero value confines none.
	Sandbox Sandbox
}

const (
	defaultRunning   = 16
	defaultWaiting   = 256
	defaultProcesses = 512
	defaultGrace     = 3 * time.Second
	// defaultLinger is how long the output may stay open after the program has ended.
	defaultLinger = 500 * time.Millisecond
)

// Runner runs commands. It is safe for use by several goroutines.
type Runner struct {
	shell     string
	inherited inherited
	places    *places
	processes int
	grace     time.Duration
	linger    time.Duration
	signal    sender
	sandbox   sandbox

	ctx    context.Context // ends at Close
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	runs   sync.WaitGroup
}

// New makes a runner. Errors are of type *Error.
func New(o Options) (*Runner, error) {
	for _, limit := range []struct {
		field string
		value int64
	}{
		{"Running", int64(o.Running)}, {"Waiting", int64(o.Waiting)}, {"Processes", int64(o.Processes)}, {"Grace", int64(o.Grace)},
	} {
		if limit.value < 0 {
			return nil, invalid(limit.field, "is %d; give a positive value, or 0 for the default", limit.value)
		}
	}
	shell, err := findShell(o.Shell)
	if err != nil {
		return nil, err
	}
	inherited, err := newInherited(o.Inherit, o.Withhold)
	if err != nil {
		return nil, err
	}
	if _, err := list(os.Getpid()); err != nil {
		return nil, &Error{Kind: KindFailed, Text: fmt.Sprintf("the processes of this machine cannot be listed (%v), so commands could not be ended; mount /proc", err)}
	}
	bound, err := newSandbox(o.Sandbox, landlock)
	if err != nil {
		return nil, err
	}
	r := &Runner{
		sandbox:   bound,
		shell:     shell,
		inherited: inherited,
		places:    newPlaces(or(o.Running, defaultRunning), or(o.Waiting, defaultWaiting)),
		processes: or(o.Processes, defaultProcesses),
		grace:     or(o.Grace, defaultGrace),
		linger:    defaultLinger,
		signal:    send,
	}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	return r, nil
}

// or answers value, or the default for 0.
func or[T int | int64 | time.Duration](value, preset T) T {
	if value == 0 {
		return preset
	}
	return value
}

// Shell is the absolute path of the program that runs command lines.
func (r *Runner) Shell() string { return r.shell }

// Close ends what is running, refuses what comes and answers when all calls of Run
// have returned. A second call waits for the same. It does not wait for survivors,
// which are reaped when they end.
func (r *Runner) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel(closing())
	r.runs.Wait()
	return nil
}

// enter counts a call of Run; the caller calls leave when it returns.
func (r *Runner) enter() (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, closing()
	}
	r.runs.Add(1)
	return r.runs.Done, nil
}
