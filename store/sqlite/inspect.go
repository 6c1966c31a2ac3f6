package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/plinthhost/plinth/store"
)

// Integrity asks SQLite about a database that nothing has open, and answers what it
// found, at most 100 things. deep compares indexes with their tables too. Errors:
// *LockedError.
func Integrity(ctx context.Context, dir string, deep bool) (found []string, err error) {
	path := filepath.Join(dir, databaseName)
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("check %s: there is no store: %w", dir, err)
	}
	lock, err := acquireLock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	db := sql.OpenDB(newConnector(path, "deferred", []string{"query_only = ON"}, nil))
	defer func() { err = errors.Join(err, db.Close()) }()
	check := "PRAGMA quick_check(100)"
	if deep {
		check = "PRAGMA integrity_check(100)"
	}
	found, err = texts(ctx, db, check)
	switch {
	case errors.Is(resource(err), store.ErrFailed): // it is so damaged that it cannot be asked
		return []string{err.Error()}, nil
	case len(found) == 1 && found[0] == "ok":
		return nil, err
	}
	return found, err
}

func texts(ctx context.Context, db *sql.DB, query string) (all []string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return all, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// Inspection is what a store has. Sizes are bytes.
type Inspection struct {
	Log        string `json:"log"`
	Database   int64  `json:"database_bytes"`
	WAL        int64  `json:"wal_bytes"`
	Blobs      int64  `json:"blobs"`
	BlobBytes  int64  `json:"blob_bytes"`
	Free       uint64 `json:"free_bytes"` // on the disk, for this user
	Events     int64  `json:"events"`
	Aggregates int64  `json:"aggregates"`
	Tombstones int64  `json:"tombstones"`
	// Missing are the digests of event data that is not there, Damaged of blobs that do
	// not have the sum of their name.
	Missing []string `json:"missing,omitempty"`
	Damaged []string `json:"damaged,omitempty"`
	// Unfinished are aggregates with events that a deletion or a pruning was to remove.
	Unfinished []string `json:"unfinished,omitempty"`
}

// Inspect looks at the store. deep reads every blob; otherwise only that those which
// hold an event's data are there.
func (s *Store) Inspect(ctx context.Context, deep bool) (i Inspection, err error) {
	if err := s.gate.enter(); err != nil {
		return i, err
	}
	defer s.gate.leave()
	i.Log = s.ID()
	for _, step := range [...]func() error{
		func() error { return i.sizes(s.options.Dir) },
		func() error { return s.snapshot(ctx, func(tx store.Tx) error { return i.counts(ctx, tx) }) },
		func() error { return i.blobs(ctx, s.blobs, deep) },
		func() error { return s.snapshot(ctx, func(tx store.Tx) error { return i.missing(ctx, tx, s.blobs) }) },
	} {
		if err := step(); err != nil {
			return i, fmt.Errorf("inspect the store: %w", err)
		}
	}
	return i, nil
}

func (i *Inspection) sizes(dir string) error {
	for name, size := range map[string]*int64{databaseName: &i.Database, databaseName + "-wal": &i.WAL} {
		info, err := os.Stat(filepath.Join(dir, name))
		switch {
		case err == nil:
			*size = info.Size()
		case !errors.Is(err, os.ErrNotExist):
			return err
		}
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return err
	}
	i.Free = disk.Bavail * uint64(disk.Bsize)
	return nil
}

func (i *Inspection) counts(ctx context.Context, tx store.Tx) error {
	for query, count := range map[string]*int64{
		`SELECT count(*) FROM log_event`:                           &i.Events,
		`SELECT count(*) FROM log_aggregate WHERE deleted = 0`:     &i.Aggregates,
		`SELECT count(*) FROM log_aggregate WHERE NOT deleted = 0`: &i.Tombstones,
	} {
		if err := tx.QueryRow(ctx, query).Scan(count); err != nil {
			return err
		}
	}
	rows, err := tx.Query(ctx, `SELECT a.name FROM log_aggregate a WHERE EXISTS
		(SELECT 1 FROM log_event e WHERE e.aggregate = a.num AND (NOT a.deleted = 0 OR e.seq < a.first))`)
	if err != nil {
		return err
	}
	for rows.Next() {
		var name string
		if err = rows.Scan(&name); err != nil {
			break
		}
		i.Unfinished = append(i.Unfinished, name)
	}
	return errors.Join(err, rows.Err(), rows.Close())
}

func (i *Inspection) blobs(ctx context.Context, dir *blobDir, deep bool) error {
	return walkBlobs(dir.root, func(digest, path string) error {
		if ctx.Err() != nil {
			return ended(ctx)
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		info, err := file.Stat()
		if err == nil && deep {
			hash := sha256.New()
			if _, err = io.Copy(hash, file); err == nil && hex.EncodeToString(hash.Sum(nil)) != digest {
				i.Damaged = append(i.Damaged, digest)
			}
		}
		if err == nil {
			i.Blobs, i.BlobBytes = i.Blobs+1, i.BlobBytes+info.Size()
		}
		return errors.Join(err, file.Close())
	})
}

func (i *Inspection) missing(ctx context.Context, tx store.Tx, dir *blobDir) error {
	rows, err := tx.Query(ctx, `SELECT DISTINCT digest FROM log_event WHERE digest IS NOT NULL`)
	if err != nil {
		return err
	}
	for rows.Next() {
		var digest []byte
		if err = rows.Scan(&digest); err != nil {
			break
		}
		name := hex.EncodeToString(digest)
		path, pathErr := dir.path(name)
		if pathErr == nil {
			_, pathErr = os.Stat(path)
		}
		if pathErr != nil {
			i.Missing = append(i.Missing, name)
		}
	}
	return errors.Join(err, rows.Err(), rows.Close())
}

// Weight is how much of the log an aggregate has.
type Weight struct {
	Aggregate string `json:"session"`
	Events    int64  `json:"events"`
	Bytes     int64  `json:"bytes"` // of data in the rows
	Blobs     int64  `json:"blobs"` // data that is kept apart
}

// Weights answers the aggregates with the most events, the heaviest first.
func (s *Store) Weights(ctx context.Context, limit int) (all []Weight, err error) {
	err = s.snapshot(ctx, func(tx store.Tx) error {
		rows, err := tx.Query(ctx, `SELECT a.name, count(*), coalesce(sum(length(e.data)), 0), count(e.digest)
			FROM log_event e JOIN log_aggregate a ON a.num = e.aggregate WHERE a.deleted = 0 GROUP BY e.aggregate ORDER BY 2 DESC, e.aggregate LIMIT $1`, limit)
		if err != nil {
			return err
		}
		for rows.Next() {
			var w Weight
			if err = rows.Scan(&w.Aggregate, &w.Events, &w.Bytes, &w.Blobs); err != nil {
				break
			}
			all = append(all, w)
		}
		return errors.Join(err, rows.Err(), rows.Close())
	})
	if err != nil {
		return nil, fmt.Errorf("weigh the aggregates: %w", err)
	}
	return all, nil
}

// Columns answers the columns of a table, in its order.
func Columns(ctx context.Context, tx store.Tx, table string) (names []string, err error) {
	rows, err := tx.Query(ctx, `SELECT name FROM pragma_table_info($1) ORDER BY cid`, table)
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var name string
		if err = rows.Scan(&name); err != nil {
			break
		}
		names = append(names, name)
	}
	return names, errors.Join(err, rows.Err(), rows.Close())
}
