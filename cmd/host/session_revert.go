package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
)

func (c *cli) sessionsRevert() *cobra.Command {
	var noFiles, clearIt, commit, asJSON bool
	command := &cobra.Command{
		Use:   "revert SESSION [MESSAGE]",
		Short: "Return to before a message, with the files that were changed since",
		Long: `Return to before a message of yours or an answer: it goes, and all that came after it.
The files that the session changed since are what they were. This is staged: the next
prompt carries it out, or --commit, and until then --clear takes it back.`,
		Example: `  plinth sessions revert ses_… msg_…
  plinth sessions revert ses_… --clear`,
		Args: usage(cobra.RangeArgs(1, 2)),
		RunE: func(command *cobra.Command, args []string) error {
			run, err := revertCommand(args, noFiles, clearIt, commit)
			if err != nil {
				return &exitError{exitUsage, err}
			}
			return c.sessionRevert(command.Context(), args[0], run, asJSON)
		},
	}
	command.Flags().BoolVar(&noFiles, "no-files", false, "leave the files as they are")
	command.Flags().BoolVar(&clearIt, "clear", false, "take the staged revert back, with the files")
	command.Flags().BoolVar(&commit, "commit", false, "carry the staged revert out now")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

type sessionCommand func(ctx context.Context, host *client.Client, id string) (protocol.Session, error)

// revertCommand reads which of the three is meant.
func revertCommand(args []string, noFiles, clearIt, commit bool) (sessionCommand, error) {
	switch {
	case clearIt && commit:
		return nil, errors.New("--clear and --commit exclude each other")
	case (clearIt || commit) && (len(args) > 1 || noFiles):
		return nil, errors.New("--clear and --commit are of the revert that is staged; give neither a message nor --no-files")
	case clearIt:
		return func(ctx context.Context, host *client.Client, id string) (protocol.Session, error) {
			return host.ClearRevert(ctx, id)
		}, nil
	case commit:
		return func(ctx context.Context, host *client.Client, id string) (protocol.Session, error) {
			return host.CommitRevert(ctx, id)
		}, nil
	case len(args) < 2:
		return nil, errors.New("no message; give the first that is to go, or --clear or --commit")
	}
	files := !noFiles
	return func(ctx context.Context, host *client.Client, id string) (protocol.Session, error) {
		return host.RevertSession(ctx, id, protocol.RevertSession{Message: args[1], Files: &files})
	}, nil
}

func (c *cli) sessionRevert(ctx context.Context, id string, run sessionCommand, asJSON bool) error {
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	if id, err = sessionID(ctx, host, id); err != nil {
		return err
	}
	changed, err := run(ctx, host, id)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(changed)
	}
	if changed.Revert == nil {
		fmt.Fprintf(c.out, "%s  no revert is staged\n", changed.ID)
		c.printUnrestored(changed.Unrestored)
		return nil
	}
	fmt.Fprintf(c.out, "%s  goes back to before %s with the next prompt\n", changed.ID, changed.Revert.Message)
	for _, file := range changed.Revert.Files {
		fmt.Fprintf(c.out, "  restored %s\n", plain(file.Path))
	}
	c.printUnrestored(changed.Revert.Unrestored)
	return nil
}

func (c *cli) printUnrestored(paths []string) {
	for _, path := range paths {
		fmt.Fprintf(c.out, "  could not restore %s: something that no snapshot has is in its way; it is as it was\n", plain(path))
	}
}

func (c *cli) sessionsChanges() *cobra.Command {
	var list protocol.ListChanges
	var asJSON bool
	command := &cobra.Command{
		Use:   "changes SESSION",
		Short: "What a session has changed in the files",
		Example: `  plinth sessions changes ses_… --patch
  plinth sessions changes ses_… --message msg_…`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.sessionChanges(command.Context(), args[0], list, asJSON)
		},
	}
	command.Flags().StringVar(&list.Message, "message", "", "only what the steps of this message changed")
	command.Flags().BoolVarP(&list.Patch, "patch", "p", false, "print unified diffs")
	command.Flags().StringVar(&list.Path, "path", "", "only this file")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func (c *cli) sessionChanges(ctx context.Context, id string, list protocol.ListChanges, asJSON bool) error {
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	if id, err = sessionID(ctx, host, id); err != nil {
		return err
	}
	changes, err := host.Changes(ctx, id, list)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(changes)
	}
	if changes.Total == 0 {
		fmt.Fprintln(c.errors, "no changes are known")
		return nil
	}
	if list.Patch {
		for _, file := range changes.Files {
			if file.Cut {
				fmt.Fprintf(c.errors, "the patch of %s is too long here; see it alone with --path\n", plain(file.Path))
			}
			fmt.Fprint(c.out, plain(file.Patch))
		}
		return nil
	}
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	for _, file := range changes.Files {
		fmt.Fprintf(table, "+%d\t-%d\t%s\n", file.Additions, file.Deletions, plain(file.Path))
	}
	fmt.Fprintf(table, "+%d\t-%d\t%s\n", changes.Additions, changes.Deletions, plural(changes.Total, "file"))
	return table.Flush()
}
