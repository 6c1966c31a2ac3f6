package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
)

// absence follows whether the host is there, for a command that waits for it.
type absence struct {
	patience time.Duration
	note     func(format string, args ...any)
	stop     context.CancelCauseFunc
	// left says what is left to do when the host does not come back.
	left string

	since time.Time // when the host went away; zero while it is there
}

// retry says once that the host is gone, and stops the command when it does not come back.
func (a *absence) retry(err error, _ time.Duration) {
	switch {
	case a.since.IsZero():
		a.since = time.Now()
		a.note("… the host is away (%s); waiting for it", oneLine(err.Error(), noteLength))
	case time.Since(a.since) > a.patience:
		a.stop(&exitError{exitUnreachable, fmt.Errorf("the host does not come back; %s", a.left)})
	}
}

// back: the host is there.
func (a *absence) back() { a.since = time.Time{} }

// followError words the end of a stream for the terminal.
func followError(session string, err error) error {
	if ended, ok := errors.AsType[*client.EndedError](err); ok && ended.Reason == protocol.EndDeleted {
		return removedError(session)
	}
	if refused, ok := errors.AsType[*protocol.Error](err); ok && refused.Code == protocol.Gone { // it went before the stream began
		return removedError(session)
	}
	return err
}

func removedError(session string) error {
	return &exitError{exitInterrupted, fmt.Errorf("session %s was removed", session)}
}
