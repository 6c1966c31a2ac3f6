package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// interval is the time between two sweeps, also over restarts.
const interval = 24 * time.Hour

// grace is how old an object must be that no snapshot has before it is pruned: a capture
// may be about to name it.
const grace = "--prune=1.hour.ago"

// sweptFile says when the last sweep was, by its time of change.
const sweptFile = "swept"

// Start begins to prune: when the last sweep is a day ago, and every day until Close. It
// waits for nothing; ctx gives its values only. A second Start, and one after Close, does
// nothing.
func (s *Store) Start(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.stop != nil {
		return
	}
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.sweeper.Go(func() {
		timer := time.NewTimer(s.untilSweep())
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
				s.options.Logger.Warn("old snapshots cannot be pruned", "error", err)
			}
			timer.Reset(interval)
		}
	})
}

// Close ends the pruning and waits for it. Safe twice, and without Start.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	if s.stop != nil {
		s.stop()
	}
	s.mu.Unlock()
	s.sweeper.Wait()
	return nil
}

func (s *Store) untilSweep() time.Duration {
	info, err := os.Stat(filepath.Join(s.options.Folder, sweptFile))
	if err != nil {
		return 0
	}
	return max(0, interval-s.options.Clock.Now().Sub(info.ModTime()))
}

// Sweep forgets the snapshots that are older than Keep and that nobody names, and
// removes what only they held. A repository without snapshots goes whole.
func (s *Store) Sweep(ctx context.Context) error {
	entries, err := os.ReadDir(s.options.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list snapshots: %w", err)
	}
	named := map[string]bool{}
	if s.options.Named != nil {
		names, err := s.options.Named(ctx)
		if err != nil {
			return fmt.Errorf("list the snapshots that are named: %w", err)
		}
		for _, name := range names {
			named[name] = true
		}
	}
	for _, entry := range entries {
		root := firstLine(filepath.Join(s.options.Folder, entry.Name(), rootFile))
		if root == "" {
			continue
		}
		r, err := s.repository(root)
		if err == nil {
			err = r.sweep(ctx, named)
		}
		if err != nil {
			return fmt.Errorf("prune the snapshots of %s: %w", root, err)
		}
	}
	now := s.options.Clock.Now()
	swept := filepath.Join(s.options.Folder, sweptFile)
	if err := os.WriteFile(swept, nil, 0o600); err != nil {
		return err
	}
	return os.Chtimes(swept, now, now)
}

func (r *repository) sweep(ctx context.Context, named map[string]bool) error {
	empty, err := r.expire(ctx, named)
	if err != nil || empty {
		return err
	}
	command := r.command(ctx, "gc", "--quiet", grace)
	command.Dir = r.folder // the root may be gone
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("git gc: %w: %s", err, oneLine(output))
	}
	return nil
}

// expire forgets snapshots, alone; empty says that none was left, nor the repository.
func (r *repository) expire(ctx context.Context, named map[string]bool) (empty bool, err error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	oldest := r.store.options.Clock.Now().Add(-r.store.options.Keep)
	entries, err := os.ReadDir(filepath.Join(r.folder, "refs", "trees"))
	if err != nil {
		return false, err
	}
	left := 0
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return false, err
		}
		if named[entry.Name()] || !info.ModTime().Before(oldest) || strings.HasSuffix(entry.Name(), ".lock") {
			left++
			continue
		}
		if err := os.Remove(r.ref(entry.Name())); err != nil {
			return false, err
		}
	}
	if left > 0 {
		return false, nil
	}
	r.ready, r.tree = false, ""
	return true, os.RemoveAll(r.folder)
}
