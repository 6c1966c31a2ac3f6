package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

func (c *cli) sessionsCompact() *cobra.Command {
	var wait, asJSON bool
	command := &cobra.Command{
		Use:   "compact SESSION",
		Short: "Put a summary in the place of the older history",
		Long: `Put a summary in the place of the older history: now, or at the next boundary of a
session that works. Without --wait it is left to the host that runs.`,
		Example: `  plinth sessions compact ses_… --wait`,
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.compact(command.Context(), args[0], wait, asJSON)
		},
	}
	command.Flags().BoolVarP(&wait, "wait", "w", false, "wait until it is made, and print the summary")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON: the receipt, or with --wait the event that ended it")
	return command
}

func (c *cli) compact(ctx context.Context, id string, wait, asJSON bool) error {
	host, closeHost, err := c.connect(ctx, wait)
	if err != nil {
		return err
	}
	defer closeHost()
	if id, err = sessionID(ctx, host, id); err != nil {
		return err
	}
	receipt, err := host.Compact(ctx, id)
	switch {
	case err != nil:
		return err
	case wait:
		return c.compacted(ctx, host, receipt, asJSON)
	case asJSON:
		return c.printJSON(receipt)
	}
	_, err = fmt.Fprintf(c.out, "%s  compaction requested\n", receipt.SessionID)
	return err
}

// undecided is an error for a session in doubt: what is asked of it is not done before
// somebody has decided whether its work goes on.
func (c *cli) undecided(ctx context.Context, host *client.Client, id string) error {
	shown, err := host.Session(ctx, id)
	if wire, ok := errors.AsType[*protocol.Error](err); ok && wire.Code == protocol.Unavailable {
		return nil // who follows it notices
	}
	if err != nil {
		return err
	}
	if waits := decision(shown); waits != "" {
		return &exitError{exitDenied, fmt.Errorf("the compaction of session %s stays requested: first it waits for the decision %s", id, waits)}
	}
	if shown.Status == protocol.StatusWaiting {
		fmt.Fprintf(c.errors, "… session %s waits for an answer to what it asked; the compaction comes after it\n", id)
	}
	return nil
}

// compacted follows the session until the compaction after the receipt has come out.
func (c *cli) compacted(ctx context.Context, host *client.Client, receipt protocol.CommandReceipt, asJSON bool) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	away := absence{patience: c.patience, stop: stop, left: "session " + receipt.SessionID + " may not be compacted yet",
		note: func(format string, args ...any) { fmt.Fprintf(c.errors, format+"\n", args...) }}
	options := client.FollowOptions{After: receipt.Cursor, Retry: away.retry,
		Types: []string{"session.compaction.*", "session.interrupt.requested", "session.activity.suspended"}}
	started := ""
	for update, err := range host.Follow(ctx, receipt.SessionID, options) {
		if err != nil {
			return followError(receipt.SessionID, err)
		}
		away.back()
		if update.Live { // also when the host is back
			if err := c.undecided(ctx, host, receipt.SessionID); err != nil {
				return err
			}
		}
		if update.Event == nil {
			continue
		}
		var data struct {
			Message string                `json:"message"`
			Summary string                `json:"summary"`
			Error   session.Failure       `json:"error"`
			Reason  session.SuspendReason `json:"reason"`
			Removal bool                  `json:"removal"`
		}
		if err := json.Unmarshal(update.Event.Data, &data); err != nil {
			return fmt.Errorf("read %s at sequence %d: %w", update.Event.Type, update.Event.Seq, err)
		}
		switch {
		case update.Event.Type == session.CompactionStarted{}.EventType() && started == "":
			started = data.Message
			continue
		case update.Event.Type == session.ActivitySuspended{}.EventType():
			if data.Reason != session.SuspendedByDoubt {
				continue
			}
			if err := c.undecided(ctx, host, receipt.SessionID); err != nil {
				return err
			}
			continue // somebody has decided
		case data.Removal:
			return removedError(receipt.SessionID)
		case update.Event.Type == session.InterruptRequested{}.EventType() && started == "":
			return &exitError{exitInterrupted, errors.New("an interrupt came before the compaction")}
		case started == "" || data.Message != started:
			continue
		}
		if asJSON {
			if err := c.printJSON(update.Event); err != nil {
				return err
			}
		}
		switch {
		case update.Event.Type == session.CompactionFailed{}.EventType():
			return &exitError{exitActivity, fmt.Errorf("%s (%s, session %s)", oneLine(data.Error.Message, 1000), data.Error.Code, receipt.SessionID)}
		case !asJSON:
			_, err = fmt.Fprintln(c.out, plain(data.Summary))
		}
		return err
	}
	return nil
}
