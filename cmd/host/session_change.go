package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

func (c *cli) sessionsMove() *cobra.Command {
	return &cobra.Command{
		Use:   "move SESSION DIRECTORY",
		Short: "Let a session work in another directory from its next turn on",
		Args:  usage(cobra.ExactArgs(2)),
		RunE: func(command *cobra.Command, args []string) error {
			directory, err := c.absolute(args[1])
			if err != nil {
				return &exitError{exitUsage, err}
			}
			return c.withSession(command.Context(), args[0], func(ctx context.Context, host *client.Client, id string) (protocol.Session, error) {
				return host.MoveSession(ctx, id, directory)
			})
		},
	}
}

func (c *cli) sessionsSwitch() *cobra.Command {
	var change protocol.ChangeSession
	var model string
	command := &cobra.Command{
		Use:     "switch SESSION",
		Short:   "Let a session go on as another agent or with another model",
		Example: `  plinth sessions switch ses_… --agent plan`,
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			if change.Agent == "" && model == "" {
				return &exitError{exitUsage, errors.New("nothing to switch; give --agent or --model")}
			}
			if model != "" {
				parsed, err := session.ParseModel(model)
				if err != nil {
					return &exitError{exitUsage, fmt.Errorf("--model: %s", reason(err))}
				}
				change.Model = wireModel(parsed)
			}
			return c.withSession(command.Context(), args[0], func(ctx context.Context, host *client.Client, id string) (protocol.Session, error) {
				return host.ChangeSession(ctx, id, change)
			})
		},
	}
	command.Flags().StringVar(&change.Agent, "agent", "", "the agent to go on as")
	command.Flags().StringVarP(&model, "model", "m", "", "the provider/model to go on with")
	return command
}

// withSession changes a session and shows what it is then.
func (c *cli) withSession(ctx context.Context, name string, change func(context.Context, *client.Client, string) (protocol.Session, error)) error {
	return c.onSession(ctx, name, func(ctx context.Context, host *client.Client, id string) error {
		changed, err := change(ctx, host, id)
		if err != nil {
			return err
		}
		model := session.ModelRef{Provider: changed.Model.Provider, Model: changed.Model.Model, Variant: changed.Model.Variant}
		_, err = fmt.Fprintf(c.out, "%s  %s  %s  %s\n", changed.ID, oneLine(changed.Agent, 64), oneLine(model.String(), 200), plain(changed.Location.Directory))
		return err
	})
}

func (c *cli) sessionsUsage() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "usage SESSION",
		Short: "What a session and its children have used and spent",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.onSession(command.Context(), args[0], func(ctx context.Context, host *client.Client, id string) error {
				return c.sessionUsage(ctx, host, id, asJSON)
			})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// nanoDollars are in a dollar.
const nanoDollars = 1e9

func (c *cli) sessionUsage(ctx context.Context, host *client.Client, id string, asJSON bool) error {
	used, err := host.Usage(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(used)
	}
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(table, "provider turns\t%d\n", used.Turns)
	fmt.Fprintf(table, "input tokens\t%d\t(%d read from the cache, %d written to it)\n", used.Usage.Input, used.Usage.CacheRead, used.Usage.CacheWrite)
	fmt.Fprintf(table, "output tokens\t%d\t(%d of reasoning)\n", used.Usage.Output, used.Usage.Reasoning)
	fmt.Fprintf(table, "cost\t$%.6f\t(%d answers without a known price)\n", float64(used.CostNano)/nanoDollars, used.Unpriced)
	return table.Flush()
}
