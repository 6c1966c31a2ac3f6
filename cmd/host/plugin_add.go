package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/plugin"
)

// grantFlags say what is granted without asking.
type grantFlags struct {
	keys     []string
	all, yes bool
	asJSON   bool
}

func (g *grantFlags) add(command *cobra.Command) {
	set := command.Flags()
	set.StringArrayVar(&g.keys, "grant", nil, "grant the request of this key and none that is not named; may be repeated")
	set.BoolVar(&g.all, "grant-all", false, "grant all that it asks for")
	set.BoolVar(&g.yes, "yes", false, "the same as --grant-all")
	jsonFlag(command, &g.asJSON)
}

// check refuses flags that say different things.
func (g *grantFlags) check() error {
	if len(g.keys) > 0 && (g.all || g.yes) {
		return &exitError{exitUsage, errors.New("--grant names what is granted, and --grant-all and --yes grant all of it; give one")}
	}
	return nil
}

// given reports whether nobody is to be asked.
func (g *grantFlags) given() bool { return g.all || g.yes || len(g.keys) > 0 }

func (c *cli) pluginAdd() *cobra.Command {
	var grants grantFlags
	var project, sum string
	command := &cobra.Command{
		Use:   "add PATH|URL",
		Short: "Add a plugin, or another version of one, from a file, a folder or a URL",
		Long: `Add a plugin, or another version of one. A file or a folder of this machine is packed
and sent to the host; a URL the host downloads itself. What the plugin asks for is shown
with its reasons, for another version with what it changes, and asked about at the
terminal. A version that is not approved waits, and what served goes on.`,
		Example: `  plinth plugin add ./weather
  plinth plugin add https://example.com/weather-1.2.0.wasm --sha256 9f86d0…
  plinth plugin add weather.wasm --grant kv --grant http:https://api.weather.example`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			if err := grants.check(); err != nil {
				return err
			}
			return c.onPlugin(ctx, "", project, func(host *client.Client, named protocol.PluginParams) error {
				added, err := addPlugin(ctx, host, args[0], sum, named.Location)
				if err != nil {
					return err
				}
				return c.seeThrough(ctx, host, added, &grants)
			})
		},
	}
	grants.add(command)
	command.Flags().StringVar(&sum, "sha256", "", "what the file is held to, as sha256sum prints it")
	projectFlag(command, &project)
	return command
}

// addPlugin sends what is at a path, or has the host download what is at a URL.
func addPlugin(ctx context.Context, host *client.Client, source, sum, location string) (protocol.Plugin, error) {
	if plugin.IsURL(source) {
		return host.AddPlugin(ctx, protocol.AddPlugin{URL: source, SHA256: sum, Location: location})
	}
	candidate, err := given(source)
	if err != nil {
		return protocol.Plugin{}, err
	}
	if sum != "" && !strings.EqualFold(sum, candidate.Digest) {
		return protocol.Plugin{}, &exitError{exitUsage, fmt.Errorf("%s has the SHA-256 %s, not the one of --sha256", candidate.Origin, candidate.Digest)}
	}
	return host.UploadPlugin(ctx, candidate.Wasm, candidate.Origin, location, nil)
}

// seeThrough asks about a version that was added where it waits, and says how the plugin
// is then.
func (c *cli) seeThrough(ctx context.Context, host *client.Client, added protocol.Plugin, grants *grantFlags) error {
	switch open := slices.ContainsFunc(added.Requests, func(request protocol.PluginRequest) bool { return !request.Granted }); {
	case added.Held != nil:
		return c.approve(ctx, host, added, added.Held.Digest, grants)
	case added.State == protocol.PluginActive && grants.given() && (open || len(grants.keys) > 0):
		return c.approve(ctx, host, added, added.Digest, grants)
	}
	return c.tellPlugin(added, grants.asJSON)
}

func (c *cli) pluginApprove() *cobra.Command {
	var grants grantFlags
	var project, digest string
	command := &cobra.Command{
		Use:   "approve ID",
		Short: "Grant a version what it asks for, or part of it, and have it serve",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			if err := grants.check(); err != nil {
				return err
			}
			return c.onPlugin(ctx, args[0], project, func(host *client.Client, named protocol.PluginParams) error {
				known, err := host.Plugin(ctx, named)
				if err != nil {
					return err
				}
				return c.approve(ctx, host, known, digest, &grants)
			})
		},
	}
	grants.add(command)
	command.Flags().StringVar(&digest, "digest", "", "of the version whose digest begins so (default: the one that waits, else the one that serves)")
	projectFlag(command, &project)
	return command
}

// approve shows what a version asks for, asks about it unless the flags say it, and
// approves of it.
func (c *cli) approve(ctx context.Context, host *client.Client, known protocol.Plugin, digest string, grants *grantFlags) error {
	meant, shown := versionOf(known, digest)
	if !shown && !grants.given() {
		return &exitError{exitUsage, fmt.Errorf("the version %s neither serves nor waits, so what it asks for is not known here; say it with --grant KEY or --grant-all", oneLine(digest, 64))}
	}
	name := oneLine(known.ID+" "+meant.version, 120)
	if shown {
		tellRequests(c.errors, name, meant)
	}
	change := protocol.ChangePlugin{Action: protocol.ActionApprove, Digest: meant.digest}
	switch {
	case len(grants.keys) > 0:
		change.Grants = &grants.keys
	case grants.given() || len(meant.requests) == 0 && known.Location == "":
	case !c.interactive():
		var told error
		if grants.asJSON {
			told = c.printJSON(known)
		}
		return errors.Join(told, &exitError{exitDenied, fmt.Errorf("%s waits for approval, and there is no terminal to ask at; say --grant KEY for each request that is granted, or --grant-all: plinth plugin approve %s",
			name, namedPlugin(known))})
	default:
		keys, ok := askGrants(bufio.NewReader(c.in), c.errors, meant.requests)
		if !ok {
			return &exitError{exitDenied, fmt.Errorf("not approved; %s waits. Approve of it with plinth plugin approve %s, or take it out with plinth plugin remove %s",
				name, namedPlugin(known), namedPlugin(known))}
		}
		change.Grants = &keys
	}
	approved, err := host.ChangePlugin(ctx, protocol.PluginParams{ID: known.ID, Location: known.Location}, change)
	if err != nil {
		return err
	}
	return c.tellPlugin(approved, grants.asJSON)
}

// namedPlugin is how the command line names a plugin.
func namedPlugin(plugin protocol.Plugin) string {
	if plugin.Location == "" {
		return oneLine(plugin.ID, 140)
	}
	return oneLine(plugin.ID, 140) + " --project " + oneLine(plugin.Location, 300)
}

// pluginVersion is what is to be approved.
type pluginVersion struct {
	digest, version string
	requests        []protocol.PluginRequest
	change          *protocol.PluginChange
}

// versionOf is the version that a digest begins like: the one that waits, or else the one
// that serves. It is not shown when it is another one.
func versionOf(known protocol.Plugin, digest string) (meant pluginVersion, shown bool) {
	switch held := known.Held; {
	case held != nil && strings.HasPrefix(held.Digest, digest):
		return pluginVersion{held.Digest, held.Version, held.Requests, held.Change}, true
	case known.Digest != "" && strings.HasPrefix(known.Digest, digest):
		return pluginVersion{known.Digest, known.Version, known.Requests, nil}, true
	}
	return pluginVersion{digest: digest}, false
}

// tellRequests shows what a version asks for and what it changes.
func tellRequests(notes io.Writer, name string, meant pluginVersion) {
	if len(meant.requests) == 0 {
		fmt.Fprintf(notes, "%s asks for nothing\n", name)
	} else {
		fmt.Fprintf(notes, "%s asks for:\n", name)
	}
	for _, request := range meant.requests {
		granted := ""
		if request.Granted {
			granted = " (granted before)"
		}
		fmt.Fprintf(notes, "  %s: %s%s\n", oneLine(request.Key, 250), requestText(request), granted)
	}
	if meant.change != nil && len(meant.change.Lines) > 0 {
		fmt.Fprintf(notes, "from %s to %s it changes:\n", oneLine(meant.change.From, 40), oneLine(meant.change.To, 40))
		for _, line := range meant.change.Lines {
			fmt.Fprintf(notes, "  %s\n", oneLine(line, 500))
		}
	}
}

func requestText(request protocol.PluginRequest) string {
	text := "it wants to " + request.Text
	if request.Reason != "" {
		text += ", because: " + request.Reason
	}
	return oneLine(text, 600)
}

// askGrants has a person say which requests are granted; ok is false when they decline.
// No input is a no.
func askGrants(in *bufio.Reader, notes io.Writer, requests []protocol.PluginRequest) (keys []string, ok bool) {
	keys = []string{}
	choices := "[y/N]"
	if len(requests) > 1 {
		choices = "[y]es to all, [s]ome, [N]o"
	}
	question := "Grant it? "
	if len(requests) == 0 {
		question = "Have it serve? "
	}
	switch fmt.Fprintf(notes, "? %s%s: ", question, choices); answered(in) {
	case "y", "yes":
		for _, request := range requests {
			keys = append(keys, request.Key)
		}
		return keys, true
	case "s", "some":
		if len(requests) < 2 {
			return nil, false
		}
	default:
		return nil, false
	}
	for _, request := range requests {
		fmt.Fprintf(notes, "? %s [y/N]: ", oneLine(request.Key, 250))
		if text := answered(in); text == "y" || text == "yes" {
			keys = append(keys, request.Key)
		}
	}
	return keys, true
}

// answered is a line of a person in lower case; empty without more input.
func answered(in *bufio.Reader) string {
	line, err := in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(line))
}
