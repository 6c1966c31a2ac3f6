package process

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Command is what to run and how. Exactly one of Line and Argv is given, and
// exactly one of Directory and Handle.
type Command struct {
	// Line is a text for the shell.
	Line string
	// Argv is a program and its arguments, run without a shell. A program without a
	// slash is looked up in the command's PATH; one with a slash is absolute or
	// relative to the working directory.
	Argv []string

	// Directory is the working directory, absolute.
	Directory string
	// Handle is the working directory, open for reading; the caller keeps it open until
	// Run returns. On Linux the command works in the directory that is open, whatever
	// its path leads to by then. On macOS the path is compared with it just before.
	Handle *os.File

	// Project, when not "", is the absolute path of a folder: the command runs in the
	// runner's sandbox, where the system has one, and writes below that folder and
	// where the sandbox lets all commands write.
	Project string

	// Environment is added to what the command has from the host. Variables that make a
	// shell read or run something at its start are refused.
	Environment map[string]string
	// Input is what the command reads; without any its input is empty.
	Input []byte
	// Timeout bounds the running time, without the wait for a place. 0 is 2 minutes.
	Timeout time.Duration
	// Session is who asks: places are handed round fairly between sessions.
	Session string
	// Output says what becomes of what the command prints.
	Output Capture
	// Progress, when not nil, is told at most five times a second that something was
	// printed. Its calls do not overlap, and the last one has returned before Run does:
	// one that blocks holds Run up, but not the end of the command.
	Progress func(Progress)
}

// Capture says what becomes of the output. The zero value keeps 30 KiB.
type Capture struct {
	// Apart keeps what goes to standard error apart. Else both are one stream, in the
	// order they were written.
	Apart bool
	// Head and Tail are how many bytes are kept of the beginning and of the end of each
	// stream. When both are 0 it is 15 KiB each.
	Head, Tail int
	// Save, when not nil, is given the bytes as they were written, up to SaveLimit;
	// SaveErrors those of standard error when they are apart. The calls do not overlap.
	// A writer that blocks holds the command up.
	Save, SaveErrors io.Writer
	// SaveLimit is in bytes, for each of the two. 0 is 10 MiB. What is beyond is counted
	// and dropped, and the command goes on.
	SaveLimit int64
	// Limit ends the command when it has printed more bytes, in all. 0 is 256 MiB.
	Limit int64
}

// Progress is what a running command has printed lately.
type Progress struct {
	// Lines are the newest lines, at most 4 KiB of them, the last perhaps unfinished.
	// They are valid UTF-8 with escape sequences as printed.
	Lines string
	// Total is the number of bytes printed so far.
	Total int64
	// Elapsed is the running time so far.
	Elapsed time.Duration
}

const (
	defaultTimeout   = 2 * time.Minute
	defaultKept      = 15 << 10
	defaultSaveLimit = 10 << 20
	defaultLimit     = 256 << 20
)

// complete answers the command with its defaults, or what is wrong with it.
func (c Command) complete() (Command, error) {
	if err := c.check(); err != nil {
		return c, err
	}
	c.Timeout = or(c.Timeout, defaultTimeout)
	if c.Output.Head == 0 && c.Output.Tail == 0 {
		c.Output.Head, c.Output.Tail = defaultKept, defaultKept
	}
	c.Output.SaveLimit = or(c.Output.SaveLimit, defaultSaveLimit)
	c.Output.Limit = or(c.Output.Limit, defaultLimit)
	return c, nil
}

func (c Command) check() error {
	switch {
	case strings.TrimSpace(c.Line) == "" && len(c.Argv) == 0:
		return invalid("Line", "is empty; give a command line, or a program in Argv")
	case c.Line != "" && len(c.Argv) > 0:
		return invalid("Argv", "is given and Line too; give one of them")
	case len(c.Argv) > 0 && c.Argv[0] == "":
		return invalid("Argv[0]", "is empty; it must name a program")
	case strings.ContainsRune(c.Line, 0):
		return invalid("Line", "has a NUL character in it")
	case strings.ContainsRune(strings.Join(c.Argv, " "), 0):
		return invalid("Argv", "has a NUL character in it")
	case c.Directory == "" && c.Handle == nil:
		return invalid("Directory", "is missing; give the working directory as an absolute path or an open handle")
	case c.Directory != "" && c.Handle != nil:
		return invalid("Directory", "is given and Handle too; give one of them")
	case c.Directory != "" && !filepath.IsAbs(c.Directory):
		return invalid("Directory", "is %s, which is relative; give an absolute path", quote(c.Directory))
	case c.Project != "" && !filepath.IsAbs(c.Project):
		return invalid("Project", "is %s, which is relative; give an absolute path", quote(c.Project))
	case c.Timeout < 0:
		return invalid("Timeout", "is %v; give a positive time, or 0 for %v", c.Timeout, defaultTimeout)
	}
	return c.Output.check()
}

func (c Capture) check() error {
	for _, limit := range []struct {
		field string
		value int64
	}{
		{"Output.Head", int64(c.Head)}, {"Output.Tail", int64(c.Tail)}, {"Output.SaveLimit", c.SaveLimit}, {"Output.Limit", c.Limit},
	} {
		if limit.value < 0 {
			return invalid(limit.field, "is %d bytes; give a positive number, or 0 for the default", limit.value)
		}
	}
	if c.SaveErrors != nil && !c.Apart {
		return invalid("Output.SaveErrors", "is given, but the streams are not kept apart; set Output.Apart, or use Output.Save")
	}
	return nil
}
