package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/store/sqlite"
)

func (c *cli) backupCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "backup FOLDER",
		Short: "Back up the store, while a host uses it or without one",
		Long: `Back up the store into a folder that is empty or not there: everything that is
committed when the command begins, with the files and plugins that it names and a
manifest with their sums. The host that serves the data folder goes on meanwhile. A
folder without a manifest.json is no whole backup. Blobs that are missing or damaged are
named, and the exit code is 1; the rest is backed up.`,
		Example: `  plinth backup ~/backups/today`,
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			backup, err := c.backup(command.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				err = c.printJSON(backup)
			} else {
				c.noteLacking(backup, "the blob %s is missing from the store\n", "the blob %s is damaged and was left out\n")
				plugins := ""
				if backup.Plugins > 0 {
					plugins = fmt.Sprintf(", %s of %d bytes", plural(backup.Plugins, "plugin"), backup.PluginBytes)
				}
				_, err = fmt.Fprintf(c.out, "%s  %d bytes, %s of %d bytes%s\n", plain(backup.Folder), backup.Bytes, plural(backup.Blobs, "blob"), backup.BlobBytes, plugins)
			}
			if lacking := len(backup.Missing) + len(backup.Damaged); err == nil && lacking > 0 {
				err = fmt.Errorf("the backup lacks %s of the store and has all the rest; keep it, and look for what is missing in an older one", plural(lacking, "blob"))
			}
			return err
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// noteLacking names the blobs that a backup lacks.
func (c *cli) noteLacking(backup protocol.Backup, missing, damaged string) {
	for _, digest := range backup.Missing {
		fmt.Fprintf(c.errors, missing, digest)
	}
	for _, digest := range backup.Damaged {
		fmt.Fprintf(c.errors, damaged, digest)
	}
}

// backup asks the host that there is, or works on the folder itself: a host of its own
// would bring an older store up to date first.
func (c *cli) backup(ctx context.Context, folder string) (protocol.Backup, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return protocol.Backup{}, &exitError{exitUsage, err}
	}
	host, closeHost, err := c.connect(ctx, false)
	var none *exitError
	switch {
	case err == nil:
		defer closeHost()
		return host.Backup(ctx, folder)
	case !errors.As(err, &none) || none.code != exitUnreachable:
		return protocol.Backup{}, err
	}
	loaded, err := c.load()
	if err != nil {
		return protocol.Backup{}, err
	}
	manifest, err := sqlite.Backup(ctx, loaded.Data, folder, backupOptions())
	if err != nil {
		return protocol.Backup{}, err
	}
	return wireBackup(folder, manifest), nil
}

func (c *cli) restoreCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "restore BACKUP",
		Short: "Make the data folder of a backup",
		Long: `Make the data folder of a backup. The folder must be empty or not there: move the old
one away first. Every sum is compared; the folder is whole in the end, or as it was.
Clients notice by the log's new id that they have to read sessions anew.`,
		Example: `  plinth restore ~/backups/today --data ~/restored`,
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			loaded, err := c.load()
			if err != nil {
				return err
			}
			restored, err := sqlite.Restore(command.Context(), args[0], loaded.Data)
			if err != nil {
				return err
			}
			made := wireBackup(loaded.Data, restored.From)
			made.Log = restored.Log
			if asJSON {
				return c.printJSON(made)
			}
			c.noteLacking(made, "the blob %s was missing when the backup was made\n", "the blob %s was damaged when the backup was made\n")
			_, err = fmt.Fprintf(c.out, "%s  as of %s\n", plain(loaded.Data), restored.From.Created.Local().Format("2006-01-02 15:04:05"))
			return err
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}
