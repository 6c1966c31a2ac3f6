package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/plinthhost/plinth/host/snapshot"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	"github.com/plinthhost/plinth/store"
)

// startSnapshots begins to keep states of files, if that is wanted and there is git.
func (a *app) startSnapshots(ctx context.Context) error {
	c := a.config.Snapshots
	if !c.Enabled {
		return nil
	}
	files, err := snapshot.New(snapshot.Options{
		Folder: filepath.Join(a.config.Data, "snapshots"), Exclude: []string{a.config.Data}, MaxFileBytes: int64(c.MaxFileBytes), MaxFiles: c.MaxFiles,
		Timeout: time.Duration(c.TimeoutMS) * time.Millisecond, Keep: time.Duration(c.KeepDays) * 24 * time.Hour,
		Named: a.namedSnapshots, Logger: a.logger.Named("snapshots"),
	})
	if errors.Is(err, snapshot.ErrNoGit) {
		a.logger.Warn("no snapshots of files: changes are not shown and reverts restore no files", "reason", err)
		return nil
	}
	if err != nil {
		return err
	}
	a.snapshots = files
	files.Start(ctx)
	a.closers = append(a.closers, files.Close)
	return nil
}

// namedSnapshots are those that sessions name for as long as they are there.
func (a *app) namedSnapshots(ctx context.Context) (names []string, err error) {
	err = a.store.View(ctx, func(tx store.Tx) error {
		names, err = session.LoadSnapshots(ctx, tx)
		return err
	})
	return names, err
}

// kernelSnapshots is the port; no port is better than one with nothing in it.
func (a *app) kernelSnapshots() session.Snapshots {
	if a.snapshots == nil {
		return nil
	}
	return a.snapshots
}

// startTitles lets a model name the sessions that have no title. The answer closes it.
func (a *app) startTitles(work *runner.Runner, sessions *session.Sessions) (closeTitles func()) {
	if !a.config.Titles.Enabled {
		return func() {}
	}
	titler := runner.NewTitler(work, sessions, a.config.Titles.Model)
	work.Completed = titler.Consider
	return titler.Close
}
