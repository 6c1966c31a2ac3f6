package main

import (
	"context"
	"errors"

	"github.com/plinthhost/plinth/client/protocol"
)

// Exit codes, as docs/reference/cli.md lists them.
const (
	exitOK          = 0
	exitFailed      = 1 // anything else
	exitUsage       = 2 // the command line or the configuration is wrong
	exitActivity    = 3 // the model, a plugin or the runner failed; the session has the reason
	exitDenied      = 4 // a permission was asked for and not given, or a question not answered
	exitInterrupted = 5
	exitUnreachable = 6 // no host answers
)

// exitError is an error with the exit code it stands for.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func exitCode(err error) int {
	var exit *exitError
	var wire *protocol.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &wire) && wire.Code == protocol.Unavailable:
		return exitUnreachable
	case errors.As(err, &wire) && wire.Code == protocol.BadRequest:
		return exitUsage
	}
	return exitFailed
}

// explain is the error as the terminal shows it.
func explain(err error) string {
	text := plain(err.Error())
	var wire *protocol.Error
	switch {
	case errors.As(err, &wire) && wire.Code == protocol.Unauthenticated:
		text += "; set " + variableToken + " to a token that plinth token create made on that host"
	case errors.Is(err, context.Canceled):
		text = "interrupted"
	}
	return text
}
