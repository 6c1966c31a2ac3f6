package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/author/golden"
	"github.com/plinthhost/plinth/host/author/record"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/secret"
)

// recordingRun says what becomes of a recording.
type recordingRun struct {
	last, name    string
	redact        []string
	asNow, asJSON bool
}

func (c *cli) authorRecord() *cobra.Command {
	var how recordingRun
	command := &cobra.Command{
		Use:   "record FILE [FOLDER] | record --last ID [FOLDER]",
		Short: "Make a golden of a recorded call, without what is secret",
		Long: `Make a golden in a plugin's folder of a recorded call: a FILE that the host wrote with
record = "all" or "failing" of the plugin's settings, or with --last the newest of the
plugin, those that plinth plugin dev saw failing included. Secrets of the configuration,
home folders, the project's folder and what looks like a token are taken out and counted;
read the files before you give them to others. The golden has to hold in the engine, on
the module in the folder, or nothing is written: two files in testdata and a table at the
end of plugin.toml.`,
		Example: `  plinth plugin record --last acme/weather ./weather --name oslo
  plinth plugin record recording.jsonl ./weather --redact 'customer-[0-9]+'`,
		Args: usage(cobra.MaximumNArgs(2)),
		RunE: func(command *cobra.Command, args []string) error { return c.record(command.Context(), args, how) },
	}
	set := command.Flags()
	set.StringVar(&how.last, "last", "", "the newest recording of the plugin of this ID, in the place of FILE")
	set.StringVar(&how.name, "name", "", "what the files are called (default: the export and a free number)")
	set.StringArrayVar(&how.redact, "redact", nil, "take out what this regular expression matches, too; may be repeated")
	set.BoolVar(&how.asNow, "as-now", false, "record what the plugin answers now, not what it answered then")
	jsonFlag(command, &how.asJSON)
	return command
}

func (c *cli) record(ctx context.Context, args []string, how recordingRun) error {
	loaded, err := c.load()
	if err != nil {
		return err
	}
	file := ""
	switch {
	case how.last != "":
		if len(args) > 1 {
			return &exitError{exitUsage, errors.New("--last is in the place of FILE; give one of them")}
		}
		if file, err = lastRecording(loaded.Data, how.last); err != nil {
			return &exitError{exitUsage, err}
		}
	case len(args) == 0:
		return &exitError{exitUsage, fmt.Errorf("name the file of a recording, below %s, or the plugin with --last ID", filepath.Join(loaded.Data, recordingsFolder))}
	default:
		file, args = args[0], args[1:]
	}
	call, err := replay.Read(file)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	folder, _, err := authored(args)
	if err != nil {
		return err
	}
	options := record.Options{Folder: folder, Name: how.name, AsNow: how.asNow}
	if options.Redaction, err = c.redaction(ctx, loaded, how.redact); err != nil {
		return err
	}
	made, err := c.recorded(ctx, call, options)
	if unproved, is := errors.AsType[*record.UnprovedError](err); is && !how.asJSON {
		for _, difference := range unproved.Result.Differences {
			tellDifference(c.out, "  ", difference.Path, difference.Want, difference.Got)
		}
	}
	if err != nil {
		return err
	}
	if how.asJSON {
		return c.printJSON(made)
	}
	fmt.Fprintf(c.out, "%s made of %s\n", oneLine(filepath.Join(folder, made.Input), 500), oneLine(file, 500))
	if len(made.Replaced) == 0 {
		fmt.Fprintln(c.out, "nothing had to be taken out")
	} else {
		fmt.Fprintf(c.out, "taken out: %s\n", oneLine(made.Replaced.String(), 2000))
	}
	tellGoldens(c.out, []golden.Result{made.Result})
	return nil
}

// recorded makes the golden in an engine of its own.
func (c *cli) recorded(ctx context.Context, call *replay.Recording, options record.Options) (made record.Recorded, err error) {
	engine, err := c.authorEngine()
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	return record.Make(ctx, engine, call, options)
}

// lastRecording is the newest of a plugin.
func lastRecording(data, id string) (string, error) {
	var newest replay.Entry
	for _, folder := range []string{filepath.Join(data, recordingsFolder), developed(data, id)} {
		entry, err := replay.LookInto(folder).Last(id)
		if errors.Is(err, replay.ErrNone) || errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if entry.Time.After(newest.Time) {
			newest = entry
		}
	}
	if newest.Path == "" {
		return "", fmt.Errorf("no call of %s is recorded below %s; set record = \"all\" in [plugins.%q] of the configuration, or work with plinth plugin dev, which keeps those that fail", oneLine(id, 140), data, oneLine(id, 140))
	}
	return newest.Path, nil
}

// redaction is what a golden must not hold. Of the operator's secrets those are known that
// can be read without asking anybody: variables and files.
func (c *cli) redaction(ctx context.Context, loaded config.Config, patterns []string) (record.Redaction, error) {
	scrubber := &secret.Scrubber{}
	resolver := secret.NewResolver(secret.ResolverOptions{Scrubber: scrubber})
	for _, reference := range loaded.SecretReferences() {
		if kind, _, _ := strings.Cut(reference, ":"); kind != "env" && kind != "file" {
			continue
		}
		if _, err := resolver.Resolve(ctx, reference); err != nil {
			fmt.Fprintf(c.errors, "a secret of the configuration cannot be looked for in the recording: %s\n", oneLine(err.Error(), 300))
		}
	}
	redaction := record.Redaction{Scrubber: scrubber}
	if home, err := os.UserHomeDir(); err == nil {
		redaction.Home = home
	}
	for _, pattern := range patterns {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return redaction, &exitError{exitUsage, fmt.Errorf("--redact %q: %w", pattern, err)}
		}
		if compiled.MatchString("") {
			return redaction, &exitError{exitUsage, fmt.Errorf("--redact %q matches nothing at all, and so everywhere; have it match something", pattern)}
		}
		redaction.Patterns = append(redaction.Patterns, compiled)
	}
	return redaction, nil
}
