package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

const (
	soakReloads = 1000
	warmReloads = 100
	// beside is how many sessions work through their turns while a plugin is reloaded once.
	beside = 2
	// mostDrift is by how much the memory may grow with the reloads after the warm-up, in
	// per cent.
	mostDrift = 5
	// mostHeap is how many bytes of Go's heap a reload may leave: this program's own notes
	// are some 200. mostSpread is for all of them together, in bytes.
	mostHeap   = 1 << 10
	mostSpread = 256 << 10
	// leaving is how many revisions turns may still use when another one comes. With more
	// the manager would end the oldest.
	leaving = 3
	// slack is how many goroutines and descriptors more there may be, such as of the
	// database: far fewer than reloads.
	slack = 8
	// patience is how long anything may take to come to rest.
	patience = 30 * time.Second
)

// outcome is what a soak came to.
type outcome struct {
	reloads       int
	tally         tally
	executed      int     // calls that the guest executed
	warm          usage   // after the first reloads
	filled        usage   // after sessions without reloads
	end           usage   // after all reloads
	fill, drift   float64 // by how much the memory has grown, per cent
	wrongVersions int
}

// measureSoak replaces a plugin a thousand times under load, and tells by how much the
// memory grows with that.
//
// It grows with sessions alone, too, by some two MiB: the page caches of the database fill,
// and the C allocator keeps what lies between pages that are still used, in an arena for
// each of the threads. So the warm-up are the first hundred reloads and then as many
// sessions without any as work beside the other reloads. What grows after that is of the
// reloads, or of sessions beyond their number. Go's heap grows with neither, so leaked
// finds there what is lost in the rest: a KiB a reload.
func measureSoak(ctx context.Context, dir string) error {
	o, err := soak(ctx, dir, soakReloads, warmReloads)
	if err != nil {
		return err
	}
	figure("soak.reloads", float64(o.reloads), "count")
	figure("soak.calls", float64(o.tally.calls), "count")
	figure("soak.failed_calls", float64(o.tally.failed), "count")
	figure("soak.doubled_calls", float64(o.doubled()), "count")
	figure("soak.heap_bytes_per_reload", (float64(o.end.heap)-float64(o.filled.heap))/(soakReloads-warmReloads), "bytes")
	figure("soak.memory_fill_pct", o.fill, "percent")
	figure("soak.memory_drift_pct", o.drift, "percent")
	measure.Note("soak: %d sessions; after %d reloads %s; after sessions without any %s; at the end %s", o.tally.sessions, warmReloads, o.warm, o.filled, o.end)
	if o.drift > mostDrift {
		err = fmt.Errorf("the memory grew by %.1f %% with %d reloads; the most is %d %%", o.drift, soakReloads-warmReloads, mostDrift)
	}
	return errors.Join(err, o.check(soakReloads))
}

// growth is by how much the memory has grown, in per cent.
func growth(from, to usage) float64 {
	return math.Round(1e4*(float64(to.resident)/float64(from.resident)-1)) / 100
}

// doubled are the calls that ended or were executed more often than once.
func (o outcome) doubled() int { return o.tally.doubled + max(0, o.executed-o.tally.calls) }

// check holds the outcome to what must be, without the memory.
func (o outcome) check(reloads int) error {
	var err error
	must := func(ok bool, format string, args ...any) {
		if !ok {
			err = errors.Join(err, fmt.Errorf(format, args...))
		}
	}
	t := o.tally
	must(o.reloads == reloads, "%d reloads of %d", o.reloads, reloads)
	must(t.failed == 0, "%d calls failed, such as %w", t.failed, t.err)
	must(o.doubled() == 0, "%d calls were doubled", o.doubled())
	must(o.executed == t.calls, "the guest executed %d calls, the logs have %d", o.executed, t.calls)
	must(t.asked == t.calls/calls, "%d questions of %d calls", t.asked, t.calls)
	must(t.inconsistent == 0, "%d turns have calls of more than one revision", t.inconsistent)
	must(t.unnamed+o.wrongVersions == 0, "%d results do not say the version of their revision", t.unnamed+o.wrongVersions)
	return errors.Join(err, leaked(o.filled, o.end, reloads))
}

// leaked says what reloads have left of what is counted exactly.
func leaked(before, after usage, reloads int) error {
	var err error
	most := func(what string, before, after, more int64) {
		if after > before+more {
			err = errors.Join(err, fmt.Errorf("%d %s after %d reloads, and %d before; the most is %d more", after, what, reloads, before, more))
		}
	}
	most("bytes in Go's heap", int64(before.heap), int64(after.heap), int64(reloads)*mostHeap+mostSpread)
	most("goroutines", int64(before.goroutines), int64(after.goroutines), slack)
	most("descriptors", int64(before.descriptors), int64(after.descriptors), slack)
	return err
}

// soak replaces a plugin under load so many times, the first of them to warm up.
func soak(ctx context.Context, dir string, reloads, warm int) (o outcome, err error) {
	k, err := openKernel(ctx, dir, engineOptions(filepath.Join(dir, "cache")))
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	k.shelf.slow.Store(true)
	versions := map[string]string{} // of revisions
	if err := k.reload(ctx, 0, versions); err != nil {
		return o, err
	}
	o.tally.said = map[[2]string]bool{}
	spare := reloads
	phase := func(work func(l *load) error) (usage, error) {
		load := k.begin(ctx)
		failed := work(load)
		done, err := load.finish()
		o.tally.add(done)
		// Instances are as many as calls came at a time: a revision that nobody called has one.
		spare++
		if err = errors.Join(failed, err); err == nil {
			err = errors.Join(k.reload(ctx, spare, versions), k.rest(ctx, 0))
		}
		if err != nil {
			return usage{}, err
		}
		return used()
	}
	reload := func(from, to int) func(*load) error {
		return func(*load) error {
			for n := from; n < to; n++ {
				if err := k.reload(ctx, n+1, versions); err != nil {
					return err
				}
				o.reloads++
			}
			return nil
		}
	}
	if o.warm, err = phase(reload(0, warm)); err != nil {
		return o, err
	}
	if o.filled, err = phase(func(l *load) error { l.await(beside * (reloads - warm)); return nil }); err != nil {
		return o, err
	}
	if o.end, err = phase(reload(warm, reloads)); err != nil {
		return o, err
	}
	o.fill, o.drift = growth(o.warm, o.filled), growth(o.filled, o.end)
	o.executed = int(k.shelf.looks.Load()) + o.tally.asked
	for said := range o.tally.said {
		if versions[said[0]] != said[1] {
			o.wrongVersions++
		}
	}
	return o, nil
}

// reload has a build serve.
func (k *kernel) reload(ctx context.Context, n int, versions map[string]string) error {
	candidate, version, err := build(n)
	if err != nil {
		return err
	}
	if err := k.rest(ctx, leaving); err != nil {
		return err
	}
	revision, err := k.offer(ctx, candidate)
	if err != nil {
		return fmt.Errorf("reload %d: %w", n, err)
	}
	if before, ok := versions[revision]; ok && before != version {
		return fmt.Errorf("%s and %s are the revision %s", before, version, revision)
	}
	versions[revision] = version
	return nil
}

// rest waits until no more than so many revisions are on their way out.
func (k *kernel) rest(ctx context.Context, most int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		status, err := k.plugins.Show(plugin.Ref{ID: guestID})
		if err != nil || len(status.Retiring) <= most { // nothing retires of what is not known
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d revisions are still used after %s", len(status.Retiring), patience)
		}
	}
}

// add adds another tally.
func (t *tally) add(other tally) {
	t.sessions, t.calls, t.asked = t.sessions+other.sessions, t.calls+other.calls, t.asked+other.asked
	t.failed, t.doubled = t.failed+other.failed, t.doubled+other.doubled
	t.inconsistent, t.unnamed = t.inconsistent+other.inconsistent, t.unnamed+other.unnamed
	if t.err == nil {
		t.err = other.err
	}
	for said := range other.said {
		t.said[said] = true
	}
}
