package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
)

func (c *cli) pluginCommand() *cobra.Command {
	command := &cobra.Command{Use: "plugin", Short: "Work on a plugin"}
	command.AddCommand(c.pluginAdd(), c.pluginList(), c.pluginShow(), c.pluginApprove(), c.pluginReload(), c.pluginRollback(),
		c.pluginDisable(), c.pluginEnable(), c.pluginRemove(), c.pluginTrust(), c.pluginDistrust(),
		c.packCommand(), c.inspectCommand(), c.syncCommand(), c.lockCommand(), c.rehearseCommand(), c.replayCommand(),
		c.authorNew(), c.authorBuild(), c.authorTest(), c.authorDev(), c.authorCall(), c.authorRecord(), c.authorBench(), c.authorDoctor())
	return command
}

// projectFlag adds the flag that names a project.
func projectFlag(command *cobra.Command, project *string) {
	command.Flags().StringVar(project, "project", "", "of the project that this folder is in (default: the global level)")
}

// pluginFlags are those of the commands that change a plugin.
type pluginFlags struct {
	project string
	asJSON  bool
}

func (f *pluginFlags) add(command *cobra.Command) {
	projectFlag(command, &f.project)
	jsonFlag(command, &f.asJSON)
}

func jsonFlag(command *cobra.Command, asJSON *bool) {
	command.Flags().BoolVar(asJSON, "json", false, "print JSON")
}

// onPlugin runs something on the host about a plugin in a scope.
func (c *cli) onPlugin(ctx context.Context, id, project string, run func(host *client.Client, named protocol.PluginParams) error) error {
	if owner, name, ok := strings.Cut(id, "/"); id != "" && (!ok || owner == "" || name == "" || strings.Contains(name, "/")) {
		return &exitError{exitUsage, fmt.Errorf("%q is no plugin's id; write OWNER/NAME, as plinth plugin list shows it", oneLine(id, 100))}
	}
	location, err := locationOf(project)
	if err != nil {
		return err
	}
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	return run(host, protocol.PluginParams{ID: id, Location: location})
}

// locationOf is the absolute path of a folder; empty for none.
func locationOf(folder string) (string, error) {
	if folder == "" {
		return "", nil
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return "", &exitError{exitUsage, err}
	}
	return absolute, nil
}

// change carries out an action and says how the plugin is then.
func (c *cli) changePlugin(ctx context.Context, id string, flags pluginFlags, change protocol.ChangePlugin) error {
	return c.onPlugin(ctx, id, flags.project, func(host *client.Client, named protocol.PluginParams) error {
		plugin, err := host.ChangePlugin(ctx, named, change)
		if err != nil {
			return err
		}
		return c.tellPlugin(plugin, flags.asJSON)
	})
}

// tellPlugin prints one line on how a plugin is, and what is to do about it; as JSON all
// of it.
func (c *cli) tellPlugin(plugin protocol.Plugin, asJSON bool) error {
	if asJSON {
		return c.printJSON(plugin)
	}
	revision := ""
	if plugin.Serving && plugin.Revision != "" {
		revision = "  revision " + plugin.Revision
	}
	if _, err := fmt.Fprintf(c.out, "%s  %s  %s%s\n", oneLine(plugin.ID, 100), oneLine(plugin.Version, 40), plugin.State, revision); err != nil {
		return err
	}
	if plugin.Error != "" && plugin.State != protocol.PluginActive {
		fmt.Fprintf(c.errors, "%s\n", oneLine(plugin.Error, 2000))
	}
	if plugin.State == protocol.PluginDisabled && !plugin.Configured {
		fmt.Fprintf(c.errors, "it serves when it is enabled: plinth plugin enable %s\n", namedPlugin(plugin))
	}
	return nil
}

func (c *cli) pluginReload() *cobra.Command {
	var flags pluginFlags
	command := &cobra.Command{
		Use:   "reload [ID]",
		Short: "Look again at where a plugin came from; without an ID, read the configuration of all again",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			if len(args) == 1 {
				return c.changePlugin(ctx, args[0], flags, protocol.ChangePlugin{Action: protocol.ActionReload})
			}
			if flags.project != "" {
				return &exitError{exitUsage, errors.New("--project goes with the ID of a plugin")}
			}
			return c.onPlugin(ctx, "", "", func(host *client.Client, _ protocol.PluginParams) error {
				list, err := host.ReloadPlugins(ctx)
				switch {
				case err != nil:
				case flags.asJSON:
					err = c.printJSON(list)
				default:
					_, err = fmt.Fprintf(c.out, "%s under the configuration of now\n", plural(len(list.Plugins), "plugin"))
				}
				return err
			})
		},
	}
	flags.add(command)
	return command
}

func (c *cli) pluginRollback() *cobra.Command {
	var flags pluginFlags
	command := &cobra.Command{
		Use:   "rollback ID [REVISION]",
		Short: "Have an earlier revision serve again, the one before or the one named",
		Args:  usage(cobra.RangeArgs(1, 2)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.changePlugin(command.Context(), args[0], flags, protocol.ChangePlugin{Action: protocol.ActionRollback, Revision: strings.Join(args[1:], "")})
		},
	}
	flags.add(command)
	return command
}

func (c *cli) pluginDisable() *cobra.Command {
	return c.simpleChange("disable ID", "Have a plugin serve no more until it is enabled", protocol.ActionDisable)
}

func (c *cli) pluginEnable() *cobra.Command {
	return c.simpleChange("enable ID", "Let a disabled or quarantined plugin serve again", protocol.ActionEnable)
}

func (c *cli) simpleChange(use, short string, action protocol.PluginAction) *cobra.Command {
	var flags pluginFlags
	command := &cobra.Command{
		Use: use, Short: short, Args: usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.changePlugin(command.Context(), args[0], flags, protocol.ChangePlugin{Action: action})
		},
	}
	flags.add(command)
	return command
}

// removedPlugin is what plinth plugin remove --json prints.
type removedPlugin struct {
	ID       string `json:"id"`
	Location string `json:"location,omitempty"`
	Removed  bool   `json:"removed"`
}

func (c *cli) pluginRemove() *cobra.Command {
	var flags pluginFlags
	var purge bool
	var force time.Duration
	command := &cobra.Command{
		Use:   "remove ID",
		Short: "Remove a plugin; turns that use it go on to their end",
		Example: `  plinth plugin remove acme/weather
  plinth plugin remove acme/weather --purge --force=30s`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			if force < 0 || force > 24*time.Hour || force > 0 && force < time.Millisecond {
				return &exitError{exitUsage, fmt.Errorf("--force is %v; it must be 1ms to 24h", force)}
			}
			return c.onPlugin(command.Context(), args[0], flags.project, func(host *client.Client, named protocol.PluginParams) error {
				err := host.RemovePlugin(command.Context(), named, protocol.RemovePlugin{Purge: purge, ForceMS: force.Milliseconds()})
				switch {
				case err != nil:
				case flags.asJSON:
					err = c.printJSON(removedPlugin{ID: named.ID, Location: named.Location, Removed: true})
				default:
					_, err = fmt.Fprintf(c.out, "%s  removed\n", args[0])
				}
				return err
			})
		},
	}
	flags.add(command)
	command.Flags().BoolVar(&purge, "purge", false, "remove what it stored at once, not after 30 days")
	command.Flags().DurationVar(&force, "force", 0, "end turns that use it after this time; at once without one")
	command.Flags().Lookup("force").NoOptDefVal = "1ms"
	return command
}

func (c *cli) pluginTrust() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "trust DIR",
		Short: "Let the plugins of a project be approved, each version by itself",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.onPlugin(command.Context(), "", args[0], func(host *client.Client, named protocol.PluginParams) error {
				folder, err := host.TrustFolder(command.Context(), named.Location)
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(folder)
				}
				fmt.Fprintf(c.out, "%s is trusted\n", plain(folder.Root))
				for _, plugin := range folder.Plugins {
					if plugin.Held != nil {
						fmt.Fprintf(c.errors, "%s %s waits: plinth plugin approve %s --project %s\n",
							oneLine(plugin.ID, 100), oneLine(plugin.Held.Version, 40), oneLine(plugin.ID, 100), plain(args[0]))
					}
				}
				return nil
			})
		},
	}
	jsonFlag(command, &asJSON)
	return command
}

// distrustedFolder is what plinth plugin distrust --json prints.
type distrustedFolder struct {
	Root    string `json:"root"`
	Trusted bool   `json:"trusted"`
}

func (c *cli) pluginDistrust() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "distrust DIR",
		Short: "Take a project's trust back; its plugins are removed",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.onPlugin(command.Context(), "", args[0], func(host *client.Client, named protocol.PluginParams) error {
				err := host.DistrustFolder(command.Context(), named.Location)
				switch {
				case err != nil:
				case asJSON:
					err = c.printJSON(distrustedFolder{Root: named.Location})
				default:
					_, err = fmt.Fprintf(c.out, "%s is trusted no more\n", plain(named.Location))
				}
				return err
			})
		},
	}
	jsonFlag(command, &asJSON)
	return command
}
