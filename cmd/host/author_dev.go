package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/author/dev"
	"github.com/plinthhost/plinth/host/replay"
)

// developing says how a plugin is developed.
type developing struct {
	grants  grantFlags
	project string
	noHost  bool
}

func (c *cli) authorDev() *cobra.Command {
	var how developing
	command := &cobra.Command{
		Use:   "dev [FOLDER]",
		Short: "Build, reload and test a plugin at each save, until it is interrupted",
		Long: `Build a plugin at each save of its sources, those that watch of [dev] names, and have
the host of the data folder serve it. Shown are the compiler's output as it is, what the
manifest says otherwise, the goldens, what the plugin logs in the host, and calls of
sessions that fail; the last of these is made again by each new version, with what the
host answered then. Nothing that goes wrong ends it, and a version that fails, or asks
for more than was granted, does not serve: the one before serves on, and turns that are
under way keep the one they began with. The first version is asked about as plinth
plugin add does. Without a host there are the goldens alone.`,
		Example: `  plinth plugin dev ./weather`,
		Args:    usage(cobra.MaximumNArgs(1)),
		RunE:    func(command *cobra.Command, args []string) error { return c.dev(command.Context(), args, how) },
	}
	how.grants.add(command)
	projectFlag(command, &how.project)
	command.Flags().BoolVar(&how.noHost, "no-host", false, "do not look for a host; build and run the goldens")
	return command
}

func (c *cli) dev(ctx context.Context, args []string, how developing) (err error) {
	if err := how.grants.check(); err != nil {
		return err
	}
	folder, manifest, err := authored(args)
	if manifest.Schema == 0 {
		return err // there is nothing to begin with; whatever else is wrong is mended while it runs
	}
	if manifest.Dev == nil || manifest.Dev.Build == "" || len(manifest.Dev.Watch) == 0 {
		return &exitError{exitUsage, fmt.Errorf("%s: [dev] must have build, the command that builds the module, and watch, the files whose change asks for it, like watch = [\"*.go\"]",
			filepath.Join(folder, "plugin.toml"))}
	}
	loaded, err := c.load()
	if err != nil {
		return err
	}
	engine, err := c.authorEngine()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	options := dev.Options{Folder: folder, Engine: engine, Output: c.errors, Tell: c.teller(how.grants.asJSON), Failing: lastFailing(loaded.Data, manifest)}
	if !how.noHost {
		location, err := locationOf(how.project)
		if err != nil {
			return err
		}
		host := &devHost{cli: c, folder: folder, location: location, grants: &how.grants}
		defer host.close()
		options.Host = host
		options.Keep = keeper(loaded.Data)
	}
	return dev.Run(ctx, options)
}

// Folders of recordings below the data folder: the host's, and those of what is developed,
// one for each plugin.
const (
	recordingsFolder = "recordings"
	developedFolder  = "dev"
)

// developed is where the failed calls of a plugin that is developed are kept.
func developed(data, id string) string {
	return filepath.Join(data, developedFolder, strings.ReplaceAll(id, "/", "~"))
}

// lastFailing is the newest recording of a call of the plugin that failed; nil without one.
func lastFailing(data string, manifest abi.Manifest) *replay.Recording {
	var newest replay.Entry
	for _, folder := range []string{filepath.Join(data, recordingsFolder), developed(data, manifest.ID)} {
		if entry, err := replay.LookInto(folder).LastFailing(manifest.ID); err == nil && entry.Time.After(newest.Time) {
			newest = entry
		}
	}
	if newest.Path == "" {
		return nil
	}
	recording, err := replay.Read(newest.Path)
	if err != nil {
		return nil // it is of another version of plinth, or gone
	}
	return recording
}

// keptFailing is how many failed calls of a plugin that is developed are kept.
const keptFailing = 16

// keeper keeps failed calls, for plinth plugin record.
func keeper(data string) func(*replay.Recording) error {
	return func(call *replay.Recording) error {
		folder, err := replay.OpenFolder(developed(data, call.Plugin), keptFailing)
		if err != nil {
			return err
		}
		return folder.Keep(call)
	}
}

// teller tells what happens, for people or as a line of JSON each.
func (c *cli) teller(asJSON bool) func(dev.Event) {
	if asJSON {
		encoder := json.NewEncoder(c.out)
		return func(event dev.Event) { _ = encoder.Encode(event) } // nobody may read it any more
	}
	first := true
	return func(event dev.Event) {
		tellDev(c.out, event, first)
		first = first && event.Kind != dev.KindBuilt
	}
}

func tellDev(out io.Writer, event dev.Event, first bool) {
	line := func(format string, values ...any) { fmt.Fprintf(out, format+"\n", values...) }
	switch event.Kind {
	case dev.KindSaved:
		if len(event.Files) > 0 {
			line("\nsaved %s", oneLine(strings.Join(event.Files, " "), 200))
		}
	case dev.KindRefused:
		line("FAIL  %s", strings.TrimSpace(plain(event.Text)))
	case dev.KindBuilt:
		built := event.Built
		line("built %s %s in %s, %d bytes packed", oneLine(built.ID, 100), oneLine(built.Version, 40), briefly(time.Duration(built.TookNS)), built.Bytes)
		if first {
			line("      offers %s; asks for %s", oneLine(listOrNothing(built.Offers), 500), oneLine(listOrNothing(built.Requests), 500))
		}
	case dev.KindChanged:
		for _, changed := range event.Lines {
			line("      manifest %s", oneLine(changed, 500))
		}
	case dev.KindServing:
		tellServed(line, event.Served)
	case dev.KindGoldens:
		tellGoldens(out, event.Goldens)
	case dev.KindRerun:
		tellRerun(out, event.Rerun)
	case dev.KindDone:
		text := ""
		if event.Text != "" {
			text = "; " + oneLine(event.Text, 200)
		}
		line("done  %s, of which the build %s%s", briefly(event.Took()), briefly(time.Duration(event.BuildNS)), text)
	case dev.KindLog:
		line("log   %s: %s", oneLine(event.Log.Level, 10), clipped(event.Log.Text, 4000))
	case dev.KindFailed:
		failed := event.Failed
		line("FAIL  a call of %s in %s: %s", oneLine(failed.Export, 60), oneLine(orNobody(failed.Session), 60), clipped(failed.Outcome, 2000))
	case dev.KindNote:
		line("note  %s", oneLine(event.Text, 1000))
	}
}

func tellServed(line func(string, ...any), served *dev.Served) {
	switch {
	case served.Active:
		line("serve revision %s", oneLine(served.Revision, 60))
	case served.Held:
		line("HELD  %s", oneLine(served.Reason, 1000))
		for _, changed := range served.Lines {
			line("      %s", oneLine(changed, 500))
		}
	default:
		line("FAIL  it does not serve: %s", oneLine(served.Reason, 2000))
	}
}

// tellRerun shows what the call came to then and what it comes to now.
func tellRerun(out io.Writer, again *dev.Rerun) {
	verdict, now := "FAIL ", again.Now
	switch {
	case again.Passes:
		verdict = "ok   "
	case again.Diverged != "":
		now = again.Diverged
	}
	fmt.Fprintf(out, "%s the call that failed last, with what the host answered then\n", verdict)
	if now == again.Outcome {
		fmt.Fprintf(out, "      %s of revision %s comes to the same\n        %s\n", oneLine(again.Export, 60), oneLine(again.Revision, 60), clipped(now, 1000))
		return
	}
	tellDifference(out, "      ", again.Export+" of revision "+again.Revision+", and now", again.Outcome, now)
}

func orNobody(session string) string {
	if session == "" {
		return "no session"
	}
	return session
}
