package main

import (
	"context"
	"fmt"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

func (c *cli) commandsCommand() *cobra.Command {
	var asJSON bool
	var directory string
	command := &cobra.Command{
		Use:   "commands",
		Short: "List the prompts that were written beforehand, for plinth run --command",
		Args:  usage(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			return c.listCommands(command.Context(), directory, asJSON)
		},
	}
	directoryFlag(command, &directory)
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func (c *cli) listCommands(ctx context.Context, directory string, asJSON bool) error {
	directory, err := c.absolute(directory)
	if err != nil {
		return err
	}
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	list, err := host.Commands(ctx, protocol.In{Directory: directory})
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(list)
	}
	c.warn(list.Warnings)
	if len(list.Commands) == 0 {
		fmt.Fprintln(c.errors, "no commands")
		return nil
	}
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	for _, command := range list.Commands {
		agent, model := "-", "-"
		if command.Agent != "" {
			agent = command.Agent
		}
		if command.Model != nil {
			model = session.ModelRef{Provider: command.Model.Provider, Model: command.Model.Model, Variant: command.Model.Variant}.String()
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", command.Name, agent, oneLine(model, 60), oneLine(command.Description, 1000))
	}
	return table.Flush()
}

// send admits the prompt. What is asked for it while it is expanded is answered as the
// run's flags say; from is where the session's events are followed for that.
func (c *cli) send(ctx context.Context, host *client.Client, asked *asks, id, from string, prompt protocol.Prompt) (protocol.Receipt, error) {
	if prompt.Command == nil { // mentions ask nobody
		return host.Prompt(ctx, id, prompt)
	}
	following, stop := context.WithCancel(ctx)
	var answering sync.WaitGroup
	answering.Go(func() {
		for update, err := range host.Follow(following, id, client.FollowOptions{After: from}) {
			if err != nil {
				return // the prompt itself fails too, or nothing more is asked
			}
			if update.Event != nil {
				c.answerEvent(following, asked, update.Event)
			}
		}
	})
	receipt, err := host.Prompt(ctx, id, prompt)
	stop()
	answering.Wait()
	return receipt, err
}

// answerEvent answers a permission that an event asks for.
func (c *cli) answerEvent(ctx context.Context, asked *asks, event *protocol.Event) {
	payload, err := session.Decode(store.Event{Aggregate: event.Session, Seq: event.Seq, Type: event.Type, Version: event.Version, Data: event.Data})
	e, ok := payload.(session.PermissionAsked)
	if err != nil || !ok || e.Call != session.CallPrompt {
		return // the run that follows handles what else happens
	}
	if err := asked.permission(ctx, wirePermission(session.Permission{PermissionAsked: e, Session: event.Session}, event.Cursor)); err != nil {
		fmt.Fprintf(c.errors, "! %s\n", oneLine(err.Error(), noteLength))
	}
}

// tellExpanded says what could not be expanded.
func (c *cli) tellExpanded(receipt protocol.Receipt) {
	for _, one := range receipt.Expanded {
		if text := one.Error + one.Note; text != "" {
			fmt.Fprintf(c.errors, "! %s\n", oneLine(text, noteLength))
		}
	}
}
