package main

import (
	"context"
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

// agentService is server.Agents.
type agentService struct{ *backend }

func (b agentService) List(ctx context.Context, in protocol.In) (protocol.AgentList, error) {
	location, err := b.place(ctx, in)
	if err != nil {
		return protocol.AgentList{}, wireError(err)
	}
	list := protocol.AgentList{Default: b.agents.Default()}
	for _, agent := range b.agents.In(location) {
		wire := protocol.Agent{Name: agent.Name, Description: agent.Description, Mode: protocol.AgentMode(agent.Mode), Steps: agent.Steps, Project: agent.Confined}
		if agent.Model != nil {
			wire.Model = wireModel(*agent.Model)
		}
		list.Agents = append(list.Agents, wire)
	}
	if b.files.project != nil {
		_, wrong := b.files.project.Agents(location)
		list.Warnings = warnings(wrong)
	}
	return list, nil
}

func (c *cli) agentsCommand() *cobra.Command {
	var all, asJSON bool
	var directory string
	command := &cobra.Command{
		Use:   "agents",
		Short: "List the agents: name, mode, model, steps and what they are good for",
		Args:  usage(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			return c.listAgents(command.Context(), directory, all, asJSON)
		},
	}
	directoryFlag(command, &directory)
	command.Flags().BoolVarP(&all, "all", "a", false, "also the hidden ones, which the host itself uses")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func (c *cli) listAgents(ctx context.Context, directory string, all, asJSON bool) error {
	directory, err := c.absolute(directory)
	if err != nil {
		return err
	}
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	list, err := host.Agents(ctx, protocol.In{Directory: directory})
	if err != nil {
		return err
	}
	shown := []protocol.Agent{}
	for _, agent := range list.Agents {
		if all || agent.Mode != protocol.AgentHidden {
			shown = append(shown, agent)
		}
	}
	list.Agents = shown
	if asJSON {
		return c.printJSON(list)
	}
	c.warn(list.Warnings)
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	for _, agent := range list.Agents {
		name, model, steps := agent.Name, "-", "-"
		if name == list.Default {
			name += "*"
		}
		if agent.Model != nil {
			model = session.ModelRef{Provider: agent.Model.Provider, Model: agent.Model.Model, Variant: agent.Model.Variant}.String()
		}
		if agent.Steps > 0 {
			steps = strconv.Itoa(agent.Steps)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", name, agent.Mode, oneLine(model, 60), steps, oneLine(agent.Description, 1000))
	}
	return table.Flush()
}
