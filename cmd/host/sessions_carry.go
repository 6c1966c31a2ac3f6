package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
)

func (c *cli) sessionsExport() *cobra.Command {
	var to string
	var children bool
	command := &cobra.Command{
		Use:   "export SESSION",
		Short: "Write a session to a file that another host can import",
		Long: `Write a session to a file that another host can import: its events, and the files
that they name. The session may go on meanwhile; the file has what was recorded when
the command began.`,
		Example: `  plinth sessions export ses_… -o session.ndjson --children`,
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.onSession(command.Context(), args[0], func(ctx context.Context, host *client.Client, id string) error {
				return c.writeTo(to, func(file io.Writer) error { return host.Export(ctx, id, children, file) })
			})
		},
	}
	command.Flags().StringVarP(&to, "output", "o", "", "the file, which must not exist (default: standard output)")
	command.Flags().BoolVar(&children, "children", false, "with the sessions that its calls made, and theirs")
	return command
}

func (c *cli) sessionsImport() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "import FILE",
		Short: "Take sessions that were exported",
		Long: `Take sessions that were exported, whole or not at all. What is here already is
compared and stays. What was running or waiting where a session comes from has ended
as interrupted here; prompt or resume it to go on. FILE - is standard input.`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.importSessions(command.Context(), args[0], asJSON)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func (c *cli) importSessions(ctx context.Context, path string, asJSON bool) error {
	from := c.in
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		defer file.Close()
		from = file
	}
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	result, err := host.Import(ctx, bufio.NewReader(from))
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(result)
	}
	for _, one := range result.Sessions {
		what := plural(one.Events, "event")
		switch {
		case one.Events == 0:
			what = "is here already"
		case one.Interrupted:
			what += ", interrupted"
		}
		fmt.Fprintf(c.out, "%s  %s\n", one.Session, what)
	}
	return nil
}

func (c *cli) sessionsShare() *cobra.Command {
	var to, format string
	share := protocol.ShareSession{}
	command := &cobra.Command{
		Use:   "share SESSION",
		Short: "Write the transcript for people, without what is the host's own",
		Long: `Write the transcript for people: a page that needs nothing else, Markdown or JSON.
It has no permission rules, context, plugin revisions or paths of the host's own, but
everything that people, models and tools wrote: read it before you give it away.`,
		Example: `  plinth sessions share ses_… -o session.html`,
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			var err error
			if share.Format, err = shareFormat(format, to); err != nil {
				return &exitError{exitUsage, err}
			}
			return c.onSession(command.Context(), args[0], func(ctx context.Context, host *client.Client, id string) error {
				return c.writeTo(to, func(file io.Writer) error { return host.Share(ctx, id, share, file) })
			})
		},
	}
	command.Flags().StringVarP(&to, "output", "o", "", "the file, which must not exist (default: standard output)")
	command.Flags().StringVar(&format, "format", "", "html, markdown or json (default: by the file's name, else markdown)")
	command.Flags().BoolVar(&share.Reasoning, "reasoning", false, "with what the model thought")
	return command
}

// shareFormat is the format that was named, or that the file's name has.
func shareFormat(format, path string) (protocol.ShareFormat, error) {
	if format == "" {
		switch strings.ToLower(filepath.Ext(path)) {
		case ".html", ".htm":
			return protocol.ShareHTML, nil
		case ".json":
			return protocol.ShareJSON, nil
		}
		return protocol.ShareMarkdown, nil
	}
	if !slices.Contains(protocol.ShareFormats(), protocol.ShareFormat(format)) {
		return "", fmt.Errorf("--format is %q; it must be html, markdown or json", format)
	}
	return protocol.ShareFormat(format), nil
}

// writeTo writes a file that is new and private, and is there only when it is whole; or
// standard output when the path is empty.
func (c *cli) writeTo(path string, write func(io.Writer) error) (err error) {
	if path == "" {
		return write(c.out)
	}
	if _, err := os.Lstat(path); err == nil {
		return &exitError{exitUsage, fmt.Errorf("%s is there already; choose another name, or remove it", path)}
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".plinth-*") // 0600
	if err != nil {
		return &exitError{exitUsage, err}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
