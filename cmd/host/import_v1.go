package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/legacy"
)

func (c *cli) importCommand() *cobra.Command {
	command := &cobra.Command{Use: "import", Short: "Take over the sessions of other programs"}
	command.AddCommand(c.importV1())
	return command
}

// takeover says what is taken of a storage.
type takeover struct {
	project, session string
	dry              bool
}

// takenSession is what became of one.
type takenSession struct {
	Old      string `json:"old"`
	Session  string `json:"session,omitempty"`
	Title    string `json:"title,omitempty"`
	Messages int    `json:"messages"`
	// Events is how many were new here.
	Events int64  `json:"events"`
	Error  string `json:"error,omitempty"` // why it was skipped
}

func (c *cli) importV1() *cobra.Command {
	var what takeover
	var asJSON bool
	command := &cobra.Command{
		Use:   "v1 FOLDER",
		Short: "Take over sessions from the JSON files of the older session subsystem",
		Long: `Take over sessions from the JSON files of the older session subsystem: the FOLDER that
has session, message and part. A session that cannot be read is reported and skipped
whole, the others are taken, and the exit code is 1. Doing it twice changes nothing.`,
		Example: `  plinth import v1 ~/.local/share/opencode/storage --dry-run`,
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			taken, err := c.takeOver(command.Context(), args[0], what)
			if asJSON && taken != nil {
				err = errors.Join(c.printJSON(map[string][]takenSession{"sessions": taken}), err)
			} else {
				c.printTaken(taken)
			}
			return err
		},
	}
	command.Flags().StringVar(&what.project, "project", "", "only the sessions of this project's id")
	command.Flags().StringVar(&what.session, "session", "", "only this session, by its old id")
	command.Flags().BoolVar(&what.dry, "dry-run", false, "read everything and take nothing")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func (c *cli) takeOver(ctx context.Context, folder string, what takeover) (taken []takenSession, err error) {
	storage, err := legacy.Open(folder)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	defer storage.Close()
	listed, err := storage.List(what.project)
	if err != nil {
		return nil, err
	}
	var host *client.Client
	if !what.dry {
		var closeHost func()
		if host, closeHost, err = c.connect(ctx, true); err != nil {
			return nil, err
		}
		defer closeHost()
	}
	taken = []takenSession{}
	skipped := 0
	for _, one := range listed {
		if what.session != "" && what.session != one.ID {
			continue
		}
		result, err := takeOne(ctx, storage, one, host)
		if ctx.Err() != nil || unreachable(err) {
			return taken, err
		}
		if err != nil {
			result.Error = err.Error()
			skipped++
		}
		taken = append(taken, result)
	}
	switch {
	case len(taken) == 0:
		return taken, errors.New("the storage has no such session")
	case skipped > 0:
		return taken, fmt.Errorf("%d of %d sessions were skipped", skipped, len(taken))
	}
	return taken, nil
}

func unreachable(err error) bool {
	var wire *protocol.Error
	return errors.As(err, &wire) && wire.Code == protocol.Unavailable
}

// takeOne reads a session whole and gives it to the host; without one it is only read.
func takeOne(ctx context.Context, storage *legacy.Storage, listed legacy.Listed, host *client.Client) (takenSession, error) {
	result := takenSession{Old: listed.ID}
	converted, err := storage.Convert(ctx, listed)
	if err != nil {
		return result, err
	}
	result.Session, result.Title, result.Messages = converted.ID, converted.Title, converted.Messages
	if host == nil {
		result.Events = int64(converted.Events)
		return result, converted.Write(io.Discard)
	}
	file, err := os.CreateTemp("", "plinth-import-*") // 0600
	if err != nil {
		return result, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := converted.Write(file); err != nil {
		return result, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return result, err
	}
	imported, err := host.Import(ctx, io.NopCloser(file))
	if err != nil {
		return result, err
	}
	for _, one := range imported.Sessions {
		result.Events += one.Events
	}
	return result, nil
}

func (c *cli) printTaken(taken []takenSession) {
	for _, one := range taken {
		switch {
		case one.Error != "":
			fmt.Fprintf(c.errors, "%s  skipped: %s\n", oneLine(one.Old, 64), oneLine(one.Error, 400))
		case one.Events == 0:
			fmt.Fprintf(c.out, "%s  %s  is here already\n", oneLine(one.Old, 64), one.Session)
		default:
			fmt.Fprintf(c.out, "%s  %s  %s  %s\n", oneLine(one.Old, 64), one.Session, plural(one.Messages, "message"), oneLine(one.Title, 60))
		}
	}
}
