package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/host/plugin"
)

func (c *cli) inspectCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "inspect FILE|FOLDER",
		Short: "Show what a plugin offers and asks for, without running it or a host",
		Long: `Show what a plugin offers and asks for, read from its packed file or its folder: the
digest that names it, its tools, sources, providers and transforms, its requests with
their reasons and the keys to grant them by, its limits, and what its module imports
and exports. Nothing of it runs. The texts are its author's.`,
		Example: `  plinth plugin inspect weather.wasm`,
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			candidate, err := given(args[0])
			if err != nil {
				return err
			}
			report, err := plugin.Inspect(candidate)
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(report)
			}
			return printReport(c.out, report)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// printReport prints a line for each thing: what it is, its name, and more.
func printReport(out io.Writer, r plugin.Report) error {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	line := func(what, name, more string) {
		if more != "" {
			more = "\t" + oneLine(more, 300)
		}
		fmt.Fprintf(table, "%s\t%s%s\n", what, oneLine(name, 100), more)
	}
	line("plugin", r.ID+" "+r.Version, r.Description)
	line("digest", r.Digest, "")
	line("size", fmt.Sprintf("%d bytes", r.Bytes), "")
	for _, tool := range r.Tools {
		effects := ""
		if len(tool.Effects) > 0 {
			effects = " (" + strings.Join(tool.Effects, ", ") + ")"
		}
		line("tool", tool.Name+effects, tool.Description)
	}
	for _, key := range r.Contexts {
		line("context", key, "")
	}
	for _, id := range r.Providers {
		line("provider", id, "")
	}
	for _, transform := range r.Transforms {
		line("transform", transform.Name, fmt.Sprintf("reads %s, writes %s", listOrNothing(transform.Reads), listOrNothing(transform.Writes)))
	}
	for _, request := range r.Requests {
		line("request", request.Key, "it wants to "+request.Text+": "+request.Reason)
	}
	if len(r.Requests) == 0 {
		line("requests", "none", "")
	}
	if len(r.Requires) > 0 {
		line("requires", strings.Join(r.Requires, ", "), "")
	}
	for _, key := range slices.Sorted(maps.Keys(r.Limits)) {
		line("limit", key, fmt.Sprint(r.Limits[key]))
	}
	line("isolation", r.Isolation, "")
	line("goldens", fmt.Sprint(r.Goldens), "")
	line("module", fmt.Sprintf("%d functions", r.Module.Functions), fmt.Sprintf("%d KiB of memory at the start", int64(r.Module.MemoryPages)*64))
	for _, name := range r.Module.Imports {
		line("import", name, "")
	}
	for _, name := range r.Module.Exports {
		line("export", name, "")
	}
	return table.Flush()
}

func listOrNothing(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
