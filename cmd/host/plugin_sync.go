package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client/protocol"
	pluginlock "github.com/plinthhost/plinth/host/plugin/lock"
	"github.com/plinthhost/plinth/host/server"
)

func (c *cli) syncCommand() *cobra.Command {
	var dry, asJSON bool
	command := &cobra.Command{
		Use:   "sync",
		Short: "Make the plugins those of plinth.lock",
		Long: `Make the plugins those of plinth.lock, which stands beside the host's configuration:
exactly those bytes, with exactly those grants, without asking. Plugins that came by
plinth plugin add and are not in the list are removed; builtins and those of configured
folders and of projects stay.`,
		Args: usage(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			host, closeHost, err := c.connect(command.Context(), true)
			if err != nil {
				return err
			}
			defer closeHost()
			done, err := host.SyncPlugins(command.Context(), dry)
			if err != nil {
				return err
			}
			return c.showSync(done, asJSON)
		},
	}
	command.Flags().BoolVar(&dry, "dry-run", false, "only show what would be done")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func (c *cli) showSync(done protocol.PluginSync, asJSON bool) error {
	failed := 0
	for _, step := range done.Steps {
		name := step.ID
		if step.Location != "" {
			name += " in " + step.Location
		}
		if !asJSON {
			fmt.Fprintf(c.out, "%-8s  %s  %s\n", plain(step.Action), plain(name), plain(step.Reason))
		}
		if step.Error != "" {
			failed++
			if !asJSON {
				fmt.Fprintf(c.errors, "plinth: %s: %s\n", plain(name), plain(step.Error))
			}
		}
		if step.Action == string(pluginlock.Conflict) {
			failed++
		}
	}
	if asJSON {
		if err := c.printJSON(done); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d plugins are not as %s says", failed, len(done.Steps), plain(done.File))
	}
	return nil
}

func (c *cli) lockCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "lock",
		Short: "Write plinth.lock as the plugins are now",
		Long: `Write plinth.lock beside the host's configuration: the plugins that were added by hand
and serve, each with its digest, where it came from and what it is granted. The file on
another host, plinth plugin sync brings the same about there.`,
		Args: usage(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			host, closeHost, err := c.connect(command.Context(), true)
			if err != nil {
				return err
			}
			defer closeHost()
			written, err := host.LockPlugins(command.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(written)
			}
			_, err = fmt.Fprintf(c.out, "%s  %s\n", plain(written.File), plural(written.Plugins, "plugin"))
			return err
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// lockService is server.PluginLocks.
type lockService struct {
	*backend
	file string // the list's path
}

func lockFile(configuration string) string {
	return filepath.Join(filepath.Dir(configuration), pluginlock.Name)
}

// Sync brings about what the list says.
func (b lockService) Sync(ctx context.Context, caller server.Caller, sync protocol.SyncPlugins) (protocol.PluginSync, error) {
	list, err := pluginlock.Read(b.file)
	if err != nil {
		return protocol.PluginSync{}, lockError(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return protocol.PluginSync{}, fmt.Errorf("find the home folder: %w", err)
	}
	b.plugins.Ready(ctx, pluginPatience)
	done := protocol.PluginSync{File: b.file, Steps: []protocol.PluginSyncStep{}}
	for _, step := range b.plugins.Sync(ctx, origin(caller), list, home, sync.Dry) {
		done.Steps = append(done.Steps, protocol.PluginSyncStep{Action: string(step.Action), ID: step.ID, Location: step.Location,
			Reason: step.Reason, Error: step.Error})
	}
	return done, nil
}

// Lock writes the list.
func (b lockService) Lock(ctx context.Context) (protocol.PluginLock, error) {
	b.plugins.Ready(ctx, pluginPatience)
	list := b.plugins.Locked()
	for _, entry := range list.Plugins {
		if !entry.IsURL() && !filepath.IsAbs(entry.Source) {
			return protocol.PluginLock{}, protocol.Errorf(protocol.Conflict, "the plugin %s came from %q, which is no place that another host finds it at; add it again from a file with an absolute path or from an https address, or remove it",
				oneLine(entry.ID, 140), oneLine(entry.Source, 300))
		}
	}
	if err := os.MkdirAll(filepath.Dir(b.file), 0o700); err != nil {
		return protocol.PluginLock{}, fmt.Errorf("make the folder of the list: %w", err)
	}
	if err := pluginlock.Write(b.file, list); err != nil {
		return protocol.PluginLock{}, lockError(err)
	}
	return protocol.PluginLock{File: b.file, Plugins: len(list.Plugins)}, nil
}

// lockError words a list that cannot be used.
func lockError(err error) error {
	if refused, ok := errors.AsType[*pluginlock.Error](err); ok {
		if errors.Is(err, os.ErrNotExist) {
			return protocol.Errorf(protocol.NotFound, "%s", refused)
		}
		return protocol.Errorf(protocol.BadRequest, "%s", refused)
	}
	return err
}
