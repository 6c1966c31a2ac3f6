package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/plinthhost/plinth/host/plugin"
)

const (
	soakReloads = 1000
	warmReloads = 100
	// mostDrift is by how much the memory may have grown since the warm-up, in per cent.
	mostDrift = 5
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
	executed      int // calls that the guest executed
	warm, end     usage
	drift         float64 // per cent
	wrongVersions int
}

// measureSoak replaces a plugin a thousand times under load.
func measureSoak(ctx context.Context, dir string) error {
	o, err := soak(ctx, dir, soakReloads, warmReloads)
	if err != nil {
		return err
	}
	figure("soak.reloads", float64(o.reloads), "count")
	figure("soak.calls", float64(o.tally.calls), "count")
	figure("soak.failed_calls", float64(o.tally.failed), "count")
	figure("soak.doubled_calls", float64(o.doubled()), "count")
	figure("soak.memory_drift_pct", o.drift, "percent")
	note("soak: %d sessions; after the warm-up %s; at the end %s", o.tally.sessions, o.warm, o.end)
	if o.drift > mostDrift {
		err = fmt.Errorf("the memory grew by %.1f %% after %d reloads; the most is %d %%", o.drift, warmReloads, mostDrift)
	}
	return errors.Join(err, o.check(soakReloads))
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
	must(o.end.goroutines <= o.warm.goroutines+slack, "%d goroutines, and %d before", o.end.goroutines, o.warm.goroutines)
	must(o.end.descriptors <= o.warm.descriptors+slack, "%d descriptors, and %d before", o.end.descriptors, o.warm.descriptors)
	return err
}

// soak replaces a plugin under load so many times, the first of them to warm up.
func soak(ctx context.Context, dir string, reloads, warm int) (o outcome, err error) {
	k, err := openKernel(ctx, dir, caller{})
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
	phase := func(from, to int) (usage, error) {
		load := k.begin(ctx)
		var failed error
		for n := from; n < to && failed == nil; n++ {
			if failed = k.reload(ctx, n+1, versions); failed == nil {
				o.reloads++
			}
		}
		done, err := load.finish()
		if err = errors.Join(failed, err); err != nil {
			return usage{}, err
		}
		o.tally.add(done)
		if err := k.rest(ctx, 0); err != nil {
			return usage{}, err
		}
		return used()
	}
	if o.warm, err = phase(0, warm); err != nil {
		return o, err
	}
	if o.end, err = phase(warm, reloads); err != nil {
		return o, err
	}
	o.drift = 100 * (float64(o.end.resident)/float64(o.warm.resident) - 1)
	o.drift = math.Round(o.drift*100) / 100
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
