package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
)

// execution is what sessions ask of the coordinator, with the commands of people beside
// the drains.
type execution struct {
	*session.Coordinator
	shells *session.Shells
}

// Interrupt stops both.
func (e execution) Interrupt(ctx context.Context, id string, seq int64) error {
	var stopping sync.WaitGroup
	var shellErr error
	stopping.Go(func() { shellErr = e.shells.Interrupt(ctx, id, seq) })
	err := e.Coordinator.Interrupt(ctx, id, seq)
	stopping.Wait()
	return errors.Join(err, shellErr)
}

// shellService is server.Shells.
type shellService struct {
	*backend
	enabled bool
}

// Run starts a person's command. The caller's key gives it its id, as it does for a prompt.
func (b shellService) Run(ctx context.Context, caller server.Caller, id string, shell protocol.RunShell) (protocol.ShellRun, error) {
	if !b.enabled {
		return protocol.ShellRun{}, protocol.Errorf(protocol.Forbidden, "this host runs no command lines for people; the operator can set shell.enabled = true")
	}
	message := shell.ID
	if message == "" {
		message = idOf(session.PrefixMessage, caller)
	}
	run, err := b.shells.Run(ctx, origin(caller), session.ShellRequest{ID: message, Session: id, Command: shell.Command})
	if err != nil {
		return protocol.ShellRun{}, keyedError(caller, shell.ID, err)
	}
	return b.wire(id, run), nil
}

func (b shellService) Wait(ctx context.Context, id, message string) (protocol.ShellRun, error) {
	run, err := b.shells.Wait(ctx, id, message)
	if err != nil {
		return protocol.ShellRun{}, wireError(err)
	}
	return b.wire(id, run), nil
}

func (b shellService) wire(id string, run session.Message) protocol.ShellRun {
	return protocol.ShellRun{ID: run.ID, SessionID: id, Command: run.Command, Ended: run.Completed != 0, Output: run.Output, Exit: run.Exit, Cursor: b.cursor(run.Seq)}
}

func (c *cli) sessionsShell() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "shell SESSION -- COMMAND…",
		Short: "Run a command line where a session works, for you and its model to read",
		Long: `Runs a command line in the directory of a session, with the rights of the host's user
and without asking for permission, and prints what it printed. The session's model
reads the command and its output with the next prompt.`,
		Example: `  plinth sessions shell ses_… -- git status --short
  plinth sessions shell ses_… "go test ./... | tail -n 20"`,
		Args: usage(cobra.MinimumNArgs(2)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.runShell(command.Context(), args[0], commandLine(args[1:]), asJSON)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// commandLine is one word as the line that it is, or several as words of a line.
func commandLine(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = shellWord(arg)
	}
	return strings.Join(words, " ")
}

// shellWord puts a word into quotes where a shell would not read it as one.
func shellWord(text string) string {
	plain := text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./_-", r))
	})
	if plain {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func (c *cli) runShell(ctx context.Context, id, line string, asJSON bool) error {
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	if id, err = sessionID(ctx, host, id); err != nil {
		return err
	}
	// An interrupt stops the session's work, and the command with it; what it printed
	// until then is answered.
	running, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() {
		if _, err := host.Interrupt(running, id); err != nil {
			stop(&exitError{exitInterrupted, fmt.Errorf("interrupted, and the host was not told: %w", err)})
		}
	})()
	run, err := host.RunShell(running, id, protocol.RunShell{Command: line})
	if err != nil {
		return err
	}
	if asJSON {
		err = c.printJSON(run)
	} else if run.Output != "" {
		_, err = fmt.Fprintln(c.out, strings.TrimSuffix(run.Output, "\n"))
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted")}
	case run.Exit == nil:
		return errors.New("the command did not end by itself")
	case *run.Exit != 0:
		return fmt.Errorf("the command ended with exit code %d", *run.Exit)
	}
	return nil
}
