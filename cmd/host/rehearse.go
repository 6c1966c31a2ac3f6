package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/plugin"
)

// rehearsalService is server.Rehearsals.
type rehearsalService struct{ *backend }

func (b rehearsalService) Rehearse(ctx context.Context, id string, turns int, packed []byte) (protocol.Rehearsal, error) {
	candidate, err := plugin.Packed("the plugin", packed, false)
	if err != nil {
		return protocol.Rehearsal{}, protocol.Errorf(protocol.BadRequest, "%s", plain(err.Error()))
	}
	if _, err := b.sessions.Get(ctx, id); err != nil { // which knows those that were removed
		return protocol.Rehearsal{}, wireError(err)
	}
	b.plugins.Ready(ctx, pluginPatience)
	past, err := b.runner.Past(bridge.Rehearsing(ctx), id, turns)
	if err != nil {
		return protocol.Rehearsal{}, wireError(err)
	}
	rehearsal, err := b.plugins.Rehearse(ctx, candidate, past)
	if errors.Is(err, plugin.ErrRefused) {
		return protocol.Rehearsal{}, protocol.Errorf(protocol.Conflict, "%s", strings.Replace(plain(err.Error()), plugin.ErrRefused.Error()+": ", "", 1))
	}
	if err != nil {
		return protocol.Rehearsal{}, wireError(err)
	}
	return wireRehearsal(rehearsal), nil
}

func wireRehearsal(r plugin.Rehearsal) protocol.Rehearsal {
	wire := protocol.Rehearsal{Plugin: r.Plugin, Location: r.Location, SessionID: r.Session, Serving: protocol.RehearsedVersion(r.Serving),
		New: protocol.RehearsedVersion(r.New), Same: r.Same(), Turns: r.Turns, Manifest: append([]string{}, r.Manifest.Lines()...),
		Withheld: append([]string{}, r.Withheld...), Checks: []protocol.RehearsalCheck{}, Findings: []protocol.RehearsalFinding{}, Omitted: r.Omitted}
	for _, check := range r.Checks {
		wire.Checks = append(wire.Checks, protocol.RehearsalCheck{Kind: string(check.Kind), Compared: check.Compared, Differ: check.Differ, Note: check.Note})
	}
	for _, finding := range r.Findings {
		one := protocol.RehearsalFinding{Kind: string(finding.Kind), Name: finding.Name, On: finding.On}
		for _, change := range finding.Changes {
			one.Changes = append(one.Changes, protocol.RehearsalChange(change))
		}
		wire.Findings = append(wire.Findings, one)
	}
	return wire
}

func (c *cli) rehearseCommand() *cobra.Command {
	var id string
	var turns int
	var asJSON bool
	command := &cobra.Command{
		Use:   "rehearse FILE|FOLDER --session SESSION",
		Short: "Show what a new version of a plugin would do otherwise on a session's history",
		Long: `Runs a new version of a plugin beside the one that serves, on what a session has
recorded: its context sources, its transforms and its codecs, and holds the recorded
calls of its tools to the new schemas. Nothing is activated, recorded or sent, and no
tool runs. It ends with 1 when something differs.`,
		Example: `  plinth plugin rehearse ./weather --session brave-otter`,
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.rehearse(command.Context(), args[0], id, turns, asJSON)
		},
	}
	command.Flags().StringVar(&id, "session", "", "the session, by its id or slug")
	command.Flags().IntVar(&turns, "turns", 10, "how many of its last turns, 1 to 100")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func (c *cli) rehearse(ctx context.Context, path, id string, turns int, asJSON bool) error {
	if id == "" {
		return &exitError{exitUsage, errors.New("name the session with --session; plinth sessions list shows them")}
	}
	if turns < 1 || turns > 100 {
		return &exitError{exitUsage, fmt.Errorf("--turns is %d; it must be from 1 to 100", turns)}
	}
	candidate, err := given(path)
	if err != nil {
		return err
	}
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	if id, err = sessionID(ctx, host, id); err != nil {
		return err
	}
	rehearsal, err := host.Rehearse(ctx, id, turns, candidate.Wasm)
	if err != nil {
		return err
	}
	if asJSON {
		err = c.printJSON(rehearsal)
	} else {
		err = c.printRehearsal(rehearsal)
	}
	if err == nil && !rehearsal.Same {
		err = &exitError{exitFailed, errors.New("the new version does something otherwise")}
	}
	return err
}

func (c *cli) printRehearsal(r protocol.Rehearsal) error {
	indented := func(indent, text string) { fmt.Fprintln(c.out, indent+oneLine(text, 1000)) }
	line := func(format string, values ...any) { indented("", fmt.Sprintf(format, values...)) }
	line("%s %s (%.12s) beside %s (%.12s), which serves", r.Plugin, r.New.Version, r.New.Digest, r.Serving.Version, r.Serving.Digest)
	for _, changed := range r.Manifest {
		line("manifest %s", changed)
	}
	for _, key := range r.Withheld {
		line("not approved, and refused here: %s", key)
	}
	for _, finding := range r.Findings {
		on := ""
		if finding.On != "" {
			on = " on " + finding.On
		}
		line("%s %s%s", finding.Kind, finding.Name, on)
		for _, change := range finding.Changes {
			at := change.Path
			if at == "" {
				at = "(all of it)"
			}
			indented("  ", at)
			indented("    - ", change.Old)
			indented("    + ", change.New)
		}
	}
	if r.Omitted > 0 {
		line("and %d more", r.Omitted)
	}
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	for _, check := range r.Checks {
		note := ""
		if check.Note != "" {
			note = "\t" + oneLine(check.Note, 300)
		}
		fmt.Fprintf(table, "%s\t%d compared\t%d differ%s\n", check.Kind, check.Compared, check.Differ, note)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if r.Same {
		line("nothing differs in %d turns", r.Turns)
	}
	return nil
}
