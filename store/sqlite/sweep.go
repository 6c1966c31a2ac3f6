package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqllog"
)

// SweepGrace is how long a blob that nothing names is kept: the one who put it may be
// about to.
const SweepGrace = 24 * time.Hour

// Swept is what a sweep did.
type Swept struct {
	Old     int   `json:"old"` // blobs that were old enough
	Removed int   `json:"removed"`
	Bytes   int64 `json:"bytes"` // that those had
}

// sweepEvents is how many events are looked at in one snapshot.
const sweepEvents = 256

// Sweep removes the blobs that no event and no value of the key-value store names, and
// that were neither put nor opened for the grace. The store is used meanwhile. When
// something cannot be read nothing is removed.
func (s *Store) Sweep(ctx context.Context, grace time.Duration) (Swept, error) {
	if err := s.gate.enter(); err != nil {
		return Swept{}, err
	}
	defer s.gate.leave()
	s.cleaning.Lock()
	defer s.cleaning.Unlock()
	swept, err := s.sweep(ctx, time.Now().Add(-grace))
	if err != nil {
		return swept, fmt.Errorf("sweep the blobs: %w", err)
	}
	return swept, nil
}

func (s *Store) sweep(ctx context.Context, before time.Time) (swept Swept, err error) {
	old, err := s.blobs.old(before)
	if err != nil || len(old) == 0 {
		return swept, err
	}
	swept.Old = len(old)
	if err := s.strike(ctx, old); err != nil {
		return swept, err
	}
	for digest, size := range old {
		if ctx.Err() != nil {
			return swept, ended(ctx)
		}
		path, err := s.blobs.path(digest)
		if err != nil {
			return swept, err
		}
		removed, err := s.blobs.remove(path, before)
		if err != nil {
			return swept, err
		}
		if removed {
			swept.Removed, swept.Bytes = swept.Removed+1, swept.Bytes+size
		}
	}
	return swept, nil
}

// strike takes out of the list what is named somewhere.
func (s *Store) strike(ctx context.Context, old map[string]int64) error {
	found := func(digest string) { delete(old, digest) }
	for after, more := int64(0), true; more && len(old) > 0; {
		err := s.snapshot(ctx, func(tx store.Tx) (err error) {
			after, more, err = s.log.References(ctx, tx, after, sweepEvents, found)
			return err
		})
		if err != nil {
			return err
		}
	}
	return s.snapshot(ctx, func(tx store.Tx) error { return sqllog.KVReferences(ctx, tx, found) })
}

// old lists the blobs from before a time, with their sizes.
func (d *blobDir) old(before time.Time) (map[string]int64, error) {
	list := map[string]int64{}
	err := walkBlobs(d.root, func(digest, path string) error {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && info.ModTime().Before(before) {
			list[digest] = info.Size()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, d.clearUnfinished(before)
}

// clearUnfinished removes what a put that failed left behind.
func (d *blobDir) clearUnfinished(before time.Time) error {
	folder := filepath.Join(d.root, unfinished)
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		info, statErr := entry.Info()
		if statErr == nil && info.ModTime().Before(before) {
			err = errors.Join(err, os.Remove(filepath.Join(folder, entry.Name())))
		}
	}
	return err
}
