package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

// lifeCommands are about a session as a thing that is kept.
func (c *cli) lifeCommands() []*cobra.Command {
	return []*cobra.Command{c.sessionsShow(), c.sessionsRename(), c.sessionsArchive(true), c.sessionsArchive(false), c.sessionsFork(),
		c.sessionsRemove(), c.sessionsRetention(), c.sessionsPrune()}
}

func (c *cli) sessionsShow() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "show SESSION",
		Short: "Show one session, named by its id or its slug",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.onSession(command.Context(), args[0], func(ctx context.Context, host *client.Client, id string) error {
				shown, err := host.Session(ctx, id)
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(shown)
				}
				return c.printSession(shown)
			})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// onSession does something with the session that a person named.
func (c *cli) onSession(ctx context.Context, name string, do func(ctx context.Context, host *client.Client, id string) error) error {
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	id, err := sessionID(ctx, host, name)
	if err != nil {
		return err
	}
	return do(ctx, host, id)
}

func (c *cli) printSession(s protocol.Session) error {
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(table, "%s\t%s\n", name, value)
		}
	}
	line("id", s.ID)
	line("slug", plain(s.Slug))
	line("title", oneLine(s.Title, session.MaxTitle))
	line("status", string(s.Status))
	line("decision", decision(s))
	line("directory", plain(s.Location.Directory))
	line("agent", oneLine(s.Agent, 64))
	if s.Model != nil {
		line("model", oneLine(session.ModelRef{Provider: s.Model.Provider, Model: s.Model.Model, Variant: s.Model.Variant}.String(), 200))
	}
	line("created", s.Created.Local().Format("2006-01-02 15:04"))
	line("updated", s.Updated.Local().Format("2006-01-02 15:04"))
	if s.Archived != nil {
		line("archived", s.Archived.Local().Format("2006-01-02 15:04"))
	}
	line("parent", s.Parent)
	if s.Fork != nil {
		line("fork of", strings.TrimSpace(s.Fork.SessionID+" "+s.Fork.MessageID))
	}
	if s.Retention != nil {
		line("retention", retentionText(*s.Retention))
	}
	return table.Flush()
}

// decision says what a session in doubt waits for; empty of others.
func decision(s protocol.Session) string {
	if s.Status != protocol.StatusWaiting || s.Activity == nil || s.Activity.Reason != protocol.SuspendedByDoubt {
		return ""
	}
	return fmt.Sprintf("whether the work that a crash cut off goes on: plinth run --session %s --allow recovery PROMPT lets it, "+
		"--on-ask deny ends it", s.ID)
}

func retentionText(r protocol.Retention) string {
	if r.Days == 0 {
		return plain(r.Keep)
	}
	return fmt.Sprintf("%s %d", plain(r.Keep), r.Days)
}

// sessionsChange is a command that changes a session and shows it.
func (c *cli) sessionsChange(use, short string, args cobra.PositionalArgs, change func(args []string) (protocol.ChangeSession, error)) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use: use, Short: short, Args: usage(args),
		RunE: func(command *cobra.Command, args []string) error {
			wanted, err := change(args[1:])
			if err != nil {
				return &exitError{exitUsage, err}
			}
			return c.onSession(command.Context(), args[0], func(ctx context.Context, host *client.Client, id string) error {
				changed, err := host.ChangeSession(ctx, id, wanted)
				if err != nil {
					return err
				}
				return c.printChanged(changed, asJSON)
			})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// printChanged shows a session in one line.
func (c *cli) printChanged(s protocol.Session, asJSON bool) error {
	if asJSON {
		return c.printJSON(s)
	}
	_, err := fmt.Fprintf(c.out, "%s  %s  %s\n", s.ID, plain(s.Slug), oneLine(s.Title, 60))
	return err
}

func (c *cli) sessionsRename() *cobra.Command {
	return c.sessionsChange("rename SESSION TITLE", "Give a session a title", cobra.ExactArgs(2),
		func(args []string) (protocol.ChangeSession, error) {
			return protocol.ChangeSession{Title: &args[0]}, nil
		})
}

func (c *cli) sessionsArchive(archived bool) *cobra.Command {
	use, short := "archive SESSION", "Put a session out of sight; it can be worked on still"
	if !archived {
		use, short = "unarchive SESSION", "Put an archived session back into the list"
	}
	return c.sessionsChange(use, short, cobra.ExactArgs(1),
		func([]string) (protocol.ChangeSession, error) {
			return protocol.ChangeSession{Archived: &archived}, nil
		})
}

func (c *cli) sessionsRetention() *cobra.Command {
	return c.sessionsChange("retention SESSION all|compaction|days [N]", "Say how much of a session's history is kept", cobra.RangeArgs(2, 3),
		func(args []string) (protocol.ChangeSession, error) {
			retention := protocol.Retention{Keep: args[0]}
			switch days := args[0] == string(session.RetainDays); {
			case days != (len(args) == 2):
				return protocol.ChangeSession{}, errors.New("write all, compaction, or days and their number, like days 30")
			case days:
				var err error
				if retention.Days, err = strconv.Atoi(args[1]); err != nil {
					return protocol.ChangeSession{}, fmt.Errorf("%q is not a number of days, 1 to %d", oneLine(args[1], 64), session.MaxRetentionDays)
				}
			}
			return protocol.ChangeSession{Retention: &retention}, nil
		})
}

func (c *cli) sessionsFork() *cobra.Command {
	var fork protocol.ForkSession
	var title string
	var asJSON bool
	command := &cobra.Command{
		Use:   "fork SESSION",
		Short: "Make a session that goes on from a message of another one",
		Example: `  plinth sessions fork quiet-otter
  plinth sessions fork ses_… --message msg_… --title "Another way"`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			wanted := fork
			if command.Flags().Changed("title") {
				wanted.Title = &title
			}
			if directory := fork.Location.Directory; directory != "" {
				var err error
				if wanted.Location.Directory, err = c.absolute(directory); err != nil {
					return &exitError{exitUsage, err}
				}
			}
			return c.onSession(command.Context(), args[0], func(ctx context.Context, host *client.Client, id string) error {
				forked, err := host.ForkSession(ctx, id, wanted)
				if err != nil {
					return err
				}
				return c.printChanged(forked, asJSON)
			})
		},
	}
	command.Flags().StringVar(&fork.Message, "message", "", "the last message that both have (default: the newest)")
	command.Flags().StringVar(&title, "title", "", "title (default: the other's with \"(fork)\" behind it)")
	command.Flags().StringVarP(&fork.Location.Directory, "dir", "C", "", "working directory (default: the other's)")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func (c *cli) sessionsRemove() *cobra.Command {
	var yes, asJSON bool
	command := &cobra.Command{
		Use:   "remove SESSION",
		Short: "Stop a session and the sessions under it, and remove them for good",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.onSession(command.Context(), args[0], func(ctx context.Context, host *client.Client, id string) error {
				if err := c.confirmRemoval(ctx, host, id, yes); err != nil {
					return err
				}
				removed, err := host.RemoveSession(ctx, id)
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(removed)
				}
				for _, one := range removed.Sessions {
					fmt.Fprintln(c.out, one)
				}
				return nil
			})
		},
	}
	command.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// confirmRemoval asks the person at the terminal. Without one it needs the flag.
func (c *cli) confirmRemoval(ctx context.Context, host *client.Client, id string, yes bool) error {
	if yes {
		return nil
	}
	if !c.interactive() {
		return &exitError{exitUsage, errors.New("a removal cannot be undone; give --yes, there is no terminal to ask at")}
	}
	shown, err := host.Session(ctx, id)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.errors, "Remove %s %q and all sessions under it for good? [y/N] ", id, oneLine(shown.Title, 60))
	answer, err := bufio.NewReader(c.in).ReadString('\n')
	if text := strings.ToLower(strings.TrimSpace(answer)); err != nil || text != "y" && text != "yes" {
		return errors.New("nothing was removed")
	}
	return nil
}

func (c *cli) sessionsPrune() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "prune SESSION",
		Short: "Take away the history that a session's model is not sent any more",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.onSession(command.Context(), args[0], func(ctx context.Context, host *client.Client, id string) error {
				pruned, err := host.PruneSession(ctx, id)
				switch {
				case err != nil:
					return err
				case asJSON:
					return c.printJSON(pruned)
				case !pruned.Pruned:
					_, err = fmt.Fprintf(c.out, "%s  nothing to take away: no compaction since event %d\n", id, pruned.First)
				default:
					_, err = fmt.Fprintf(c.out, "%s  begins with event %d now\n", id, pruned.First)
				}
				return err
			})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}
