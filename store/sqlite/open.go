package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqllog"
)

// Store is the event log in one folder, held by one process.
type Store struct {
	options  Options
	log      *sqllog.Log
	identity sqllog.Identity
	blobs    *blobDir
	watchers sqllog.Watchers
	gate     gate
	writer   *writer
	purger   *purger
	rebuilds sync.Mutex // one rebuild at a time
	cleaning sync.Mutex // held while blobs are removed, or copied

	lock       *lockFile
	writing    *sql.DB
	readers    *sql.DB
	checkpoint *checkpointer
	closeOnce  sync.Once
	closeErr   error
}

var _ store.Log = (*Store)(nil)

// Open opens the store in options.Dir and makes it when it is missing. ctx bounds
// the opening only. Errors: *LockedError, *NetworkError, *FormatError, and what
// the file system or a migration answers.
func Open(ctx context.Context, options Options) (*Store, error) {
	return open(ctx, options, networkKind)
}

func open(ctx context.Context, options Options, kind func(path string) (string, error)) (*Store, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s := &Store{options: options}
	if err := s.open(ctx, kind); err != nil {
		return nil, fmt.Errorf("open store: %w", errors.Join(err, s.closeFiles()))
	}
	s.checkpoint.start()
	s.writer.start()
	s.purger.start()
	return s, nil
}

func (s *Store) open(ctx context.Context, kind func(path string) (string, error)) (err error) {
	if err := refuseNetwork(s.options.Dir, kind); err != nil {
		return err
	}
	if err := makePrivate(s.options.Dir, s.options.Logger); err != nil {
		return err
	}
	if s.lock, err = acquireLock(filepath.Join(s.options.Dir, "lock")); err != nil {
		return err
	}
	if s.blobs, err = openBlobDir(filepath.Join(s.options.Dir, "blobs")); err != nil {
		return err
	}
	path := filepath.Join(s.options.Dir, "plinth.db")
	made, err := makeFile(path)
	if err != nil {
		return err
	}
	if err := s.openDatabase(ctx, path); err != nil {
		return err
	}
	if made { // SQLite syncs the WAL's name, not that of the database
		return errors.Join(syncFolder(s.options.Dir), syncFolder(filepath.Dir(s.options.Dir)))
	}
	return nil
}

func (s *Store) openDatabase(ctx context.Context, path string) error {
	hooks := new(hooks)
	s.writing = openWriter(path, hooks.register)
	changed, err := migrate(ctx, s.writing, path, s.options)
	if err != nil {
		return err
	}
	conn, err := newConn(ctx, s.writing, hooks)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	positions := new(counter)
	s.log = sqllog.New(sqllog.Options{Projections: s.options.Projections, Views: s.options.Views, Blobs: s.blobs, Position: positions.next})
	s.checkpoint = newCheckpointer(openWriter(path, nil), s.options.Logger.Named("checkpoint"))
	s.readers = openReaders(path)
	s.writer = &writer{queue: newQueue(), conn: conn, log: s.log, checkpoint: s.checkpoint,
		maxGroup: s.options.MaxGroup, fatal: s.options.Fatal, commit: conn.Commit}
	s.purger = newPurger(s.writer, s.log, s.options.Logger.Named("purge"))
	if s.identity, err = load(conn, s.log, changed); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	positions.last = s.identity.Position
	return nil
}

// load counts this opening, durably, before the first lease is given. It is one
// short transaction and does not end half way.
func load(conn *conn, log *sqllog.Log, changed map[string]bool) (identity sqllog.Identity, err error) {
	ctx := context.Background()
	if err := conn.Begin(ctx); err != nil {
		return identity, err
	}
	if identity, err = log.Load(ctx, conn, changed); err != nil {
		return identity, errors.Join(err, conn.Rollback(ctx))
	}
	return identity, conn.Commit(ctx)
}

// counter gives positions. Only the writer uses it; what a rollback leaves unused
// is a gap.
type counter struct{ last int64 }

func (c *counter) next(context.Context, store.Tx) (int64, error) {
	c.last++
	return c.last, nil
}

// makePrivate makes the folder for this user alone. One that is there is left as
// it is: it may hold more than the store, whose own files are private anyway.
func makePrivate(dir string, logger hclog.Logger) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		logger.Warn("the data folder is open to other users; run chmod 700 on it", "folder", dir, "mode", mode)
	}
	return nil
}

// makeFile makes an empty private file: SQLite gives its WAL the same mode.
func makeFile(path string) (made bool, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, file.Close()
}

// Close waits for the calls inside, serves what was accepted and closes the
// store. Safe twice, and from Fatal. Never call it inside View or a projection.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.gate.close()
		s.purger.stop()
		s.writer.stop()
		s.checkpoint.stop()
		s.watchers.PokeAll()
		s.closeErr = s.closeFiles()
	})
	return s.closeErr
}

// closeFiles closes what is open, the lock last.
func (s *Store) closeFiles() error {
	var errs []error
	if s.readers != nil {
		errs = append(errs, s.readers.Close())
	}
	if s.checkpoint != nil {
		errs = append(errs, s.checkpoint.db.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.conn.sql.Close())
	}
	if s.writing != nil {
		errs = append(errs, s.writing.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.release())
	}
	return errors.Join(errs...)
}
