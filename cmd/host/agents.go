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

func (b agentService) List(context.Context) (protocol.AgentList, error) {
	list := protocol.AgentList{Default: b.agents.Default()}
	for _, agent := range b.agents.List() {
		wire := protocol.Agent{Name: agent.Name, Description: agent.Description, Mode: protocol.AgentMode(agent.Mode), Steps: agent.Steps}
		if agent.Model != nil {
			wire.Model = wireModel(*agent.Model)
		}
		list.Agents = append(list.Agents, wire)
	}
	return list, nil
}

func (c *cli) agentsCommand() *cobra.Command {
	var all, asJSON bool
	command := &cobra.Command{
		Use:   "agents",
		Short: "List the agents: name, mode, model, steps and what they are good for",
		Args:  usage(cobra.NoArgs),
		RunE:  func(command *cobra.Command, _ []string) error { return c.listAgents(command.Context(), all, asJSON) },
	}
	command.Flags().BoolVarP(&all, "all", "a", false, "also the hidden ones, which the host itself uses")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func (c *cli) listAgents(ctx context.Context, all, asJSON bool) error {
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	list, err := host.Agents(ctx)
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
