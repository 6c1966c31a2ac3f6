package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
)

func (c *cli) sessionsCommand() *cobra.Command {
	var list protocol.ListSessions
	var asJSON bool
	command := &cobra.Command{
		Use:   "sessions",
		Short: "List the sessions, newest first",
		Args:  usage(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			return c.sessions(command.Context(), list, asJSON)
		},
	}
	command.Flags().IntVarP(&list.Limit, "limit", "n", 20, "how many, 1 to 200")
	command.Flags().StringVar(&list.Text, "text", "", "only what has this text in its title or first prompt")
	command.Flags().StringVarP(&list.Directory, "dir", "C", "", "only of this working directory")
	command.Flags().BoolVar(&list.Archived, "archived", false, "archived ones too")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	command.AddCommand(c.sessionsMove(), c.sessionsSwitch(), c.sessionsShell(), c.sessionsUsage(), c.sessionsContext(), c.sessionsCompact())
	command.AddCommand(c.lifeCommands()...)
	command.AddCommand(c.sessionsExport(), c.sessionsImport(), c.sessionsShare())
	command.AddCommand(c.sessionsRevert(), c.sessionsChanges())
	return command
}

func (c *cli) sessions(ctx context.Context, list protocol.ListSessions, asJSON bool) error {
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	page, err := host.Sessions(ctx, list)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(page)
	}
	if len(page.Sessions) == 0 {
		fmt.Fprintln(c.errors, "no sessions")
		return nil
	}
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	for _, s := range page.Sessions {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", s.ID, plain(s.Slug), s.Updated.Local().Format("2006-01-02 15:04"), s.Status,
			oneLine(s.Location.Directory, 40), oneLine(s.Title, 60))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, s := range page.Sessions {
		if waits := decision(s); waits != "" {
			fmt.Fprintf(c.errors, "%s waits for the decision %s\n", s.ID, waits)
		}
	}
	return nil
}

func (c *cli) printJSON(value any) error {
	encoder := json.NewEncoder(c.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func (c *cli) eventsCommand() *cobra.Command {
	var ofHost, follow, asJSON bool
	var after string
	command := &cobra.Command{
		Use:   "events SESSION | events --host",
		Short: "Print the events of a session, or of the host",
		Example: `  plinth events ses_…
  plinth events ses_… --follow --json
  plinth events --host --follow`,
		Args: usage(func(command *cobra.Command, args []string) error {
			if ofHost {
				return cobra.NoArgs(command, args)
			}
			return cobra.ExactArgs(1)(command, args)
		}),
		RunE: func(command *cobra.Command, args []string) error {
			return c.events(command.Context(), strings.Join(args, ""), after, follow, asJSON)
		},
	}
	command.Flags().BoolVar(&ofHost, "host", false, "the events of the host: what becomes of its plugins and approvals")
	command.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what happens, until it is interrupted")
	command.Flags().StringVar(&after, "after", "", "begin after this cursor")
	command.Flags().BoolVar(&asJSON, "json", false, "print lines of JSON, each with its cursor")
	return command
}

// events prints the events of a session, of the host when there is no id.
func (c *cli) events(ctx context.Context, id, after string, follow, asJSON bool) error {
	host, closeHost, err := c.connect(ctx, !follow)
	if err != nil {
		return err
	}
	defer closeHost()
	lost := false
	options := client.FollowOptions{After: after, Retry: func(err error, _ time.Duration) {
		if !lost {
			fmt.Fprintf(c.errors, "… the host is away (%s); waiting for it\n", oneLine(err.Error(), noteLength))
		}
		lost = true
	}}
	updates := host.FollowHost(ctx, options)
	if id != "" {
		if id, err = sessionID(ctx, host, id); err != nil {
			return err
		}
		updates = host.Follow(ctx, id, options)
	}
	for update, err := range updates {
		if err == nil {
			lost = false
		}
		switch {
		case ctx.Err() != nil:
			return nil // the person has seen enough
		case err != nil:
			return err
		case update.Live && !follow:
			return nil
		case update.Event == nil:
			continue
		}
		line := eventLine(update.Event)
		if asJSON {
			if line, err = eventJSON(update.Event); err != nil {
				return err
			}
		}
		fmt.Fprintln(c.out, line)
	}
	return nil
}
