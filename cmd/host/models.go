package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client/protocol"
)

func (c *cli) modelsCommand() *cobra.Command {
	var selection protocol.ListModels
	var asJSON bool
	command := &cobra.Command{
		Use:   "models [PROVIDER]",
		Short: "List the models that may be chosen, with their prices and what else is known",
		Long: `Lists the models that the configuration names and those that servers tell of. Prices
are in dollars per million tokens of input and output. What is not known is shown as -.`,
		Example: `  plinth models
  plinth models local --refresh
  plinth models --json`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				selection.Provider = args[0]
			}
			return c.models(command.Context(), selection, asJSON)
		},
	}
	command.Flags().BoolVar(&selection.Refresh, "refresh", false, "ask the servers of providers with discover = true again")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the prices of caches and tiers")
	return command
}

func (c *cli) models(ctx context.Context, selection protocol.ListModels, asJSON bool) error {
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	list, err := host.Models(ctx, selection)
	if err != nil {
		return err
	}
	for _, warning := range list.Warnings {
		fmt.Fprintln(c.errors, "plinth: "+oneLine(warning, noteLength))
	}
	if asJSON {
		return c.printJSON(list)
	}
	if len(list.Models) == 0 {
		fmt.Fprintln(c.errors, "no model is known by name; name some in models of the provider's table, or set discover = true there")
		return nil
	}
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "MODEL\tCONTEXT\tOUTPUT\tPRICE\tCAPABILITIES\tVARIANTS\tSOURCES")
	for _, m := range list.Models {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", oneLine(m.ID, 100), tokens(m.Context), tokens(m.Output), price(m.Price),
			capabilities(m.Capabilities), words(m.Variants), words(m.Sources))
	}
	return table.Flush()
}

// tokens writes a number of them, a dash for an unknown one.
func tokens(n int64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

// price writes what input and output cost, with + where large inputs cost something
// else.
func price(p *protocol.ModelPrice) string {
	if p == nil {
		return "-"
	}
	text := "$" + p.Input + " $" + p.Output
	if len(p.Tiers) > 0 {
		text += " +"
	}
	return text
}

// capabilities writes them, a dash where they are unknown.
func capabilities(names []string) string {
	if names != nil && len(names) == 0 {
		return "none"
	}
	return words(names)
}

func words[T ~string](list []T) string {
	if len(list) == 0 {
		return "-"
	}
	texts := make([]string, len(list))
	for i, word := range list {
		texts[i] = string(word)
	}
	return oneLine(strings.Join(texts, ","), 100)
}
