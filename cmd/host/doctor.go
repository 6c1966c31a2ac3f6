package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/host/depot"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/audit"
	"github.com/plinthhost/plinth/session/view"
	"github.com/plinthhost/plinth/store/sqlite"
)

// checkup is what the doctor found.
type checkup struct {
	// Integrity is what SQLite found; nothing else is looked at then.
	Integrity []string           `json:"integrity,omitempty"`
	Store     *sqlite.Inspection `json:"store,omitempty"`
	Stale     []string           `json:"stale_views,omitempty"`
	Largest   []sqlite.Weight    `json:"largest,omitempty"`
	Audited   int                `json:"audited"`
	Found     []audit.Difference `json:"differences,omitempty"`
	Swept     *sqlite.Swept      `json:"swept,omitempty"`
	// Depot is what is kept of plugins; DamagedPlugins are files that are not what their
	// names say.
	Depot          depot.Checked `json:"plugins"`
	DamagedPlugins []string      `json:"damaged_plugins,omitempty"`
	Healthy        bool          `json:"healthy"`
}

// doctoring says how closely the doctor looks.
type doctoring struct {
	deep, clean bool
	sample      int
}

const largestShown = 10

func (c *cli) doctorCommand() *cobra.Command {
	var how doctoring
	var asJSON bool
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check the store: integrity, blobs, and that tables are what the log says",
		Long: `Check the store of the data folder, which no host may use meanwhile: what SQLite says
of the database, whether the values that events keep apart and the plugins are there,
and for some sessions, the largest and random ones, whether a replay of the log gives the same
tables. Exit code 1 when something is not as it must be. Like a host, it brings the
store of an older Plinth up to date. To check a store that is in use, check a backup.`,
		Example: `  plinth doctor --deep --sample 100
  plinth backup ~/copy && plinth --data ~/look restore ~/copy && plinth --data ~/look doctor`,
		Args: usage(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			if how.sample < 0 {
				return &exitError{exitUsage, fmt.Errorf("--sample is %d; it must be 0 or more", how.sample)}
			}
			loaded, err := c.load()
			if err != nil {
				return err
			}
			found, err := examine(command.Context(), loaded.Data, how)
			if err != nil {
				return err
			}
			if asJSON {
				err = c.printJSON(found)
			} else {
				err = c.printCheckup(found)
			}
			if err == nil && !found.Healthy {
				err = errors.New("the store is not as it must be; keep a copy of the folder and restore a backup, or export what can be read")
			}
			return err
		},
	}
	command.Flags().BoolVar(&how.deep, "deep", false, "read every blob and compare every index")
	command.Flags().BoolVar(&how.clean, "clean", false, "remove blobs that nothing names for a day, and rebuild stale views")
	command.Flags().IntVar(&how.sample, "sample", 20, "sessions to replay, half of them the largest")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// examine looks at a store that nothing has open.
func examine(ctx context.Context, data string, how doctoring) (found checkup, err error) {
	if found.Integrity, err = sqlite.Integrity(ctx, data, how.deep); err != nil || len(found.Integrity) > 0 {
		return found, err
	}
	list, err := view.NewList("sqlite")
	if err != nil {
		return found, err
	}
	log, err := openKernel(ctx, sqlite.Options{Dir: data, Views: []sqlite.View{list}})
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	inspected, err := log.Inspect(ctx, how.deep)
	if err != nil {
		return found, err
	}
	found.Store = &inspected
	if found.Largest, err = log.Weights(ctx, largestShown); err != nil {
		return found, err
	}
	if err := found.audit(ctx, log, how.sample); err != nil {
		return found, err
	}
	if how.clean {
		if err := found.tidy(ctx, log); err != nil {
			return found, err
		}
	}
	for _, stale := range log.StaleViews() {
		found.Stale = append(found.Stale, stale.Name+": "+stale.Reason)
	}
	if found.Depot, err = depot.Check(ctx, filepath.Join(data, pluginsFolder)); err != nil {
		return found, err
	}
	for _, damaged := range found.Depot.Damaged {
		found.DamagedPlugins = append(found.DamagedPlugins, damaged.Digest)
	}
	found.Healthy = len(inspected.Missing)+len(inspected.Damaged)+len(found.Found)+len(found.DamagedPlugins) == 0
	return found, nil
}

// audit replays a sample of the sessions: half of them the largest, the rest at random.
func (f *checkup) audit(ctx context.Context, log *sqlite.Store, sample int) (err error) {
	folder, err := os.MkdirTemp("", "plinth-doctor-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	weights, err := log.Weights(ctx, 1<<30)
	if err != nil {
		return err
	}
	chosen, rest := []string{}, []string{}
	for _, weight := range weights {
		switch {
		case !session.IsSessionID(weight.Aggregate):
		case len(chosen) < (sample+1)/2:
			chosen = append(chosen, weight.Aggregate)
		default:
			rest = append(rest, weight.Aggregate)
		}
	}
	rand.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	chosen = append(chosen, rest[:min(sample-len(chosen), len(rest))]...)
	auditor := audit.Auditor{Log: log, Blobs: log.Blobs(), Scratch: scratch(folder), Columns: sqlite.Columns}
	seen := map[string]bool{}
	for _, id := range chosen {
		if seen[id] {
			continue // below one that was looked at
		}
		looked, found, err := auditor.Session(ctx, id)
		if err != nil {
			return err
		}
		for _, one := range looked {
			seen[one] = true
		}
		f.Found = append(f.Found, found...)
	}
	f.Audited = len(seen)
	found, err := auditor.Host(ctx)
	f.Found = append(f.Found, found...)
	return err
}

func (f *checkup) tidy(ctx context.Context, log *sqlite.Store) error {
	for _, stale := range log.StaleViews() {
		if err := log.RebuildView(ctx, stale.Name); err != nil {
			return fmt.Errorf("rebuild view %s: %w", stale.Name, err)
		}
	}
	swept, err := log.Sweep(ctx, sqlite.SweepGrace)
	f.Swept = &swept
	return err
}

func (c *cli) printCheckup(f checkup) error {
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	for _, text := range f.Integrity {
		fmt.Fprintf(table, "DAMAGED\tdatabase\t%s\n", oneLine(text, 200))
	}
	if s := f.Store; s != nil {
		fmt.Fprintf(table, "log\t%s\t%s, %d sessions and others, %d deleted\n", s.Log, plural(s.Events, "event"), s.Aggregates, s.Tombstones)
		fmt.Fprintf(table, "disk\t%d bytes\t%d of the WAL, %d free\n", s.Database, s.WAL, s.Free)
		fmt.Fprintf(table, "blobs\t%d\t%d bytes\n", s.Blobs, s.BlobBytes)
		for _, digest := range s.Missing {
			fmt.Fprintf(table, "MISSING\tblob\t%s, the data of an event\n", digest)
		}
		for _, digest := range s.Damaged {
			fmt.Fprintf(table, "DAMAGED\tblob\t%s\n", digest)
		}
		for _, name := range s.Unfinished {
			fmt.Fprintf(table, "unfinished\t%s\ta deletion or pruning, which a host finishes\n", oneLine(name, 64))
		}
	}
	if f.Depot.Plugins > 0 {
		fmt.Fprintf(table, "plugins\t%d\t%d bytes\n", f.Depot.Plugins, f.Depot.Bytes)
	}
	for _, digest := range f.DamagedPlugins {
		fmt.Fprintf(table, "DAMAGED\tplugin\t%s; add it again from where it came\n", digest)
	}
	for _, stale := range f.Stale {
		fmt.Fprintf(table, "stale\tview\t%s\n", oneLine(stale, 200))
	}
	for _, weight := range f.Largest {
		fmt.Fprintf(table, "large\t%s\t%s, %d bytes, %d kept apart\n", oneLine(weight.Aggregate, 64), plural(weight.Events, "event"), weight.Bytes, weight.Blobs)
	}
	fmt.Fprintf(table, "replayed\t%s\t%s\n", plural(f.Audited, "session"), plural(len(f.Found), "difference"))
	for _, difference := range f.Found {
		fmt.Fprintf(table, "DIFFERS\t%s\n", oneLine(difference.String(), 300))
	}
	if f.Swept != nil {
		fmt.Fprintf(table, "removed\t%s\t%d bytes\n", plural(f.Swept.Removed, "blob"), f.Swept.Bytes)
	}
	return table.Flush()
}
