package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func (c *cli) pluginsCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "plugins",
		Short: "List the plugins, those that were refused with the reason",
		Args:  usage(cobra.NoArgs),
		RunE:  func(command *cobra.Command, _ []string) error { return c.plugins(command.Context(), asJSON) },
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func (c *cli) plugins(ctx context.Context, asJSON bool) error {
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	list, err := host.Plugins(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(list)
	}
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	for _, plugin := range list.Plugins {
		name, why := plugin.ID, plugin.Origin
		if name == "" {
			name = "-"
		}
		if plugin.Error != "" {
			why = plugin.Error
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", oneLine(name, 60), oneLine(plugin.Version, 20), plugin.State, oneLine(why, 1000))
	}
	return table.Flush()
}
