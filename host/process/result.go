package process

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Stop is why a command was ended.
type Stop string

// The reasons.
const (
	Timeout   Stop = "timeout"   // Command.Timeout, or a deadline of the context
	Cancelled Stop = "cancelled" // the context, or Close
	Flood     Stop = "flood"     // it printed more than Capture.Limit
	Crowd     Stop = "crowd"     // it had more processes than Options.Processes
)

// Result is how a command ended.
type Result struct {
	// ExitCode is what the program answered, -1 when a signal ended it or it survived.
	ExitCode int
	// Signal is the signal that ended the program, like SIGKILL, else "".
	Signal string
	// Stopped is why it was ended, "" when it ended by itself. A program may still have
	// answered a code of its own to SIGTERM.
	Stopped Stop
	// Duration is from the start of the program to its end.
	Duration time.Duration
	// Output is what was printed; with Capture.Apart, what went to standard output.
	Output Output
	// Errors is what went to standard error with Capture.Apart.
	Errors Output
	// Background counts the processes that were running when the program had ended by
	// itself. They were ended.
	Background int
	// Survivors counts the processes that could not be ended.
	Survivors int
	// Sandbox is what a command with a Project was confined to.
	Sandbox Confinement
}

// Output is what is kept of a stream. Its texts are valid UTF-8, with U+FFFD for
// what was not, and escape sequences as printed.
type Output struct {
	// Head is the beginning, and everything when Omitted is 0.
	Head string
	// Tail is the end, "" when Omitted is 0.
	Tail string
	// Omitted counts the bytes between Head and Tail.
	Omitted int64
	// Total counts all bytes.
	Total int64
	// Saved counts the bytes that Capture.Save took.
	Saved int64
	// SaveError is what Capture.Save answered. Nothing was given to it after that.
	SaveError error
}

// exit tells from state how the program ended. It is nil when the system does not
// say, which is when somebody else has reaped the program.
func (r *Result) exit(state *os.ProcessState) {
	if state == nil {
		return
	}
	r.ExitCode = state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.Signal = unix.SignalName(status.Signal())
	}
}
