package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// passed are the variables a command is given: where programs, the user's files
// and agents are, and no secret.
var passed = [...]string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
	"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "GNUPGHOME", "PASSWORD_STORE_DIR",
}

// Why a command was ended.
var (
	errOutput = errors.New("the command prints too much")
	errSlow   = errors.New("the command takes too long")
)

// fromCommand answers what the program prints. Neither its output nor its errors
// become part of ours: either may hold the secret.
func fromCommand(ctx context.Context, argv []string, timeout time.Duration) (string, error) {
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	inner, cancel := context.WithTimeoutCause(inner, timeout, errSlow)
	defer cancel()
	output := &capped{left: maxSize, over: func() { stop(errOutput) }}
	command := exec.CommandContext(inner, argv[0], argv[1:]...)
	command.Env = environment()
	command.Dir = "/"
	command.Stdout = output
	// A group of its own, so that its children end with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return endGroup(command) }
	command.WaitDelay = time.Second
	err := command.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		_ = endGroup(command) // a child has the output open
	}
	switch why := context.Cause(inner); {
	case err == nil && why == nil:
		return output.buffer.String(), nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(why, errOutput):
		return "", tooLarge("command:" + argv[0])
	case errors.Is(why, errSlow):
		err = fmt.Errorf("it did not end within %v; it must not wait for input", timeout)
	default:
		err = explained(err)
	}
	return "", fmt.Errorf("secret command:%s: %w", argv[0], err)
}

func endGroup(command *exec.Cmd) error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }

// explained says why a command that nobody ended gave nothing.
func explained(err error) error {
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case exited && exit.Exited():
		return fmt.Errorf("it ended with exit status %d; run it by hand to see why", exit.ExitCode())
	case exited:
		return fmt.Errorf("it was ended (%v); run it by hand to see why", exit.ProcessState)
	case errors.Is(err, exec.ErrWaitDelay):
		return errors.New("it left a child behind that kept its output open")
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return errors.New("there is no such program; give its absolute path, or a PATH that finds it")
	}
	return cause(err)
}

func environment() []string {
	var all []string
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			all = append(all, name+"="+value)
		}
	}
	return all
}

// capped keeps so many bytes and calls over when there are more.
type capped struct {
	buffer bytes.Buffer
	left   int
	over   func()
}

func (c *capped) Write(p []byte) (int, error) {
	if len(p) > c.left {
		c.over()
		return 0, errOutput
	}
	c.left -= len(p)
	return c.buffer.Write(p)
}
