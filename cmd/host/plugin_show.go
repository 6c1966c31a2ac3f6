package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
)

func (c *cli) pluginShow() *cobra.Command {
	var project string
	var asJSON bool
	command := &cobra.Command{
		Use:   "show ID",
		Short: "Show all that is known of a plugin",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.onPlugin(command.Context(), args[0], project, func(host *client.Client, named protocol.PluginParams) error {
				plugin, err := host.Plugin(command.Context(), named)
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(plugin)
				}
				return c.printPlugin(plugin)
			})
		},
	}
	projectFlag(command, &project)
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// lines prints a line for each thing: what it is, its name, and more.
type lines struct{ *tabwriter.Writer }

func (l lines) add(what, name, more string) {
	if name == "" {
		return
	}
	if more != "" {
		more = "\t" + oneLine(more, 600)
	}
	fmt.Fprintf(l, "%s\t%s%s\n", what, oneLine(name, 300), more)
}

func (c *cli) printPlugin(p protocol.Plugin) error {
	l := lines{tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)}
	l.add("plugin", strings.TrimSpace(p.ID+" "+p.Version), "")
	l.add("state", string(p.State), "")
	l.add("project", p.Location, "")
	l.add("error", p.Error, "")
	if p.Attempts > 0 {
		l.add("starts", fmt.Sprintf("%d failed in a row", p.Attempts), "")
	}
	l.add("from", p.Origin, p.Source)
	l.add("digest", p.Digest, "")
	l.add("revision", p.Revision, "")
	for _, revision := range p.Retiring {
		l.add("retiring", revision, "turns still use it")
	}
	printOffers(l, p.Contributions)
	printRequests(l, "request", p.Requests)
	for _, key := range slices.Sorted(maps.Keys(p.Limits)) {
		l.add("limit", key, fmt.Sprint(p.Limits[key]))
	}
	l.add("isolation", p.Isolation, "")
	printRunning(l, p)
	for _, revision := range slices.Backward(p.Revisions) {
		l.add("version", revision.Revision, fmt.Sprintf("%s %s %.12s%s", revision.Version, revision.State, revision.Digest, revisionNotes(revision)))
	}
	for _, approval := range p.Approvals {
		l.add("approved", fmt.Sprintf("%.12s", approval.Digest), cmp.Or(strings.Join(approval.Grants, " "), "no request"))
	}
	if held := p.Held; held != nil {
		l.add("waits", held.Version+" "+fmt.Sprintf("%.12s", held.Digest), held.Reason)
		printRequests(l, "asks", held.Requests)
		if held.Change != nil {
			for _, line := range held.Change.Lines {
				l.add("changes", line, "")
			}
		}
	}
	return l.Flush()
}

func printOffers(l lines, offers *protocol.PluginContributions) {
	if offers == nil {
		return
	}
	for _, one := range []struct {
		what  string
		names []string
	}{{"tool", offers.Tools}, {"context", offers.Contexts}, {"provider", offers.Providers}, {"transform", offers.Transforms}} {
		for _, name := range one.names {
			l.add(one.what, name, "")
		}
	}
}

func printRequests(l lines, what string, requests []protocol.PluginRequest) {
	for _, request := range requests {
		granted := "not granted"
		if request.Granted {
			granted = "granted"
		}
		l.add(what, request.Key, granted+": "+requestText(request))
	}
}

func printRunning(l lines, p protocol.Plugin) {
	if p.Figures != nil {
		l.add("calls", fmt.Sprintf("%d, %d broke it", p.Figures.Calls, p.Figures.Faults), p.Figures.Last)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Operations)) {
		count := p.Operations[name]
		l.add("operation", name, fmt.Sprintf("%d made, %d denied, %d failed", count.Made, count.Denied, count.Failed))
	}
	if e := p.Engine; e != nil {
		l.add("instances", fmt.Sprintf("%d idle, %d at work, %d waiting", e.Idle, e.Leased, e.Parked), fmt.Sprintf("%d started, %d discarded", e.Started, e.Discarded))
		l.add("memory", fmt.Sprintf("at most %d MiB each", e.MemoryMiB), fmt.Sprintf("%d KiB after initialisation", e.ImageBytes>>10))
	}
}

func revisionNotes(revision protocol.PluginRevision) string {
	notes := ""
	if revision.Activated != nil {
		notes += ", served from " + revision.Activated.Local().Format("2006-01-02 15:04")
	}
	if revision.Blocked {
		notes += ", blocked"
	}
	if revision.Error != "" {
		notes += ": " + revision.Error
	}
	return notes
}
