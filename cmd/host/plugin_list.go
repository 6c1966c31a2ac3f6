package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func (c *cli) pluginsCommand() *cobra.Command {
	command := c.pluginList()
	command.Use, command.Short = "plugins", "List the plugins: plinth plugin list"
	return command
}

func (c *cli) pluginList() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "list",
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
		switch {
		case plugin.Error != "":
			why = plugin.Error
		case plugin.Held != nil:
			why = fmt.Sprintf("%s waits: %s", plugin.Held.Version, plugin.Held.Reason)
		}
		if plugin.Location != "" {
			why = fmt.Sprintf("in %s: %s", plugin.Location, why)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", oneLine(name, 60), oneLine(plugin.Version, 20), plugin.State, oneLine(why, 1000))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, root := range list.Trusted {
		fmt.Fprintf(c.errors, "trusted: %s\n", plain(root))
	}
	return nil
}
