package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/plinthhost/plinth/store/sqllog"
)

// Restored is what a restore made.
type Restored struct {
	// From is the manifest of the backup, Log the new id of the log.
	From Manifest
	Log  string
}

// Restore makes the data folder dir of a backup. The folder is empty or not there; it is
// whole in the end, or as it was. The log gets a new id: cursors of the one that was
// backed up, which went on, are told apart.
//
// Errors: *BackupError, *LockedError when a host runs on the folder, *FormatError.
func Restore(ctx context.Context, backup, dir string) (Restored, error) {
	r, err := restore(ctx, backup, dir)
	if err != nil {
		return Restored{}, fmt.Errorf("restore %s: %w", dir, err)
	}
	return r, nil
}

func restore(ctx context.Context, backup, dir string) (r Restored, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return r, err
	}
	if err := refuseNetwork(dir, networkKind); err != nil {
		return r, err
	}
	if r.From, err = ReadManifest(backup); err != nil {
		return r, err
	}
	if err := vacant(dir); err != nil {
		return r, err
	}
	// Beside the folder, so that one rename makes it.
	work := filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+".restoring")
	lock, err := claim(work)
	if err != nil {
		return r, err
	}
	if r.Log, err = fill(ctx, backup, work, r.From); err == nil {
		err = os.Remove(filepath.Join(work, "lock"))
	}
	if err == nil {
		err = syncFolder(work)
	}
	if err == nil {
		err = install(work, dir)
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(work))
	}
	return r, errors.Join(err, lock.release())
}

// vacant refuses a folder that something is in.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil || len(entries) == 0 {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "lock")); err == nil {
		lock, err := acquireLock(filepath.Join(dir, "lock"))
		if err != nil {
			return err
		}
		if err := lock.release(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s has files already; move it away first, or give another data folder", dir)
}

// claim makes the folder to work in, or takes over and empties one that was left behind.
func claim(work string) (*lockFile, error) {
	if err := os.MkdirAll(work, 0o700); err != nil {
		return nil, err
	}
	lock, err := acquireLock(filepath.Join(work, "lock"))
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(work)
	for _, entry := range entries {
		if entry.Name() != "lock" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(work, entry.Name())))
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return lock, nil
}

// fill copies the backup, holds it to its sums, and makes another log of it.
func fill(ctx context.Context, backup, work string, m Manifest) (id string, err error) {
	source, err := os.Open(filepath.Join(backup, databaseName))
	if err != nil {
		return "", err
	}
	database := filepath.Join(work, databaseName)
	_, err = copySynced(io.LimitReader(source, m.Database.Bytes+1), database)
	if err := errors.Join(err, source.Close()); err != nil {
		return "", err
	}
	found, err := sumSynced(database)
	if err != nil {
		return "", err
	}
	if found != m.Database {
		return "", &BackupError{Path: backup, Reason: "is damaged: " + databaseName + " does not have the sum in the manifest; take another backup"}
	}
	copied := blobCopy{ctx: ctx, from: filepath.Join(backup, blobsName), to: filepath.Join(work, blobsName)}
	blobs, err := copied.all()
	switch {
	case err != nil:
		return "", fmt.Errorf("copy the blobs: %w", err)
	case len(copied.damaged) > 0:
		return "", &BackupError{Path: backup, Reason: "is damaged: the blob " + copied.damaged[0] + " does not have the sum of its name; take another backup"}
	case blobs != m.Blobs:
		return "", &BackupError{Path: backup, Reason: fmt.Sprintf("is damaged: it has %d blobs of %d bytes, not the %d of %d bytes that the manifest names; take another backup",
			blobs.Count, blobs.Bytes, m.Blobs.Count, m.Blobs.Bytes)}
	}
	if err := restoreFolders(ctx, backup, work, m); err != nil {
		return "", err
	}
	return renew(ctx, backup, database)
}

// renew checks the database and gives the log in it another id.
func renew(ctx context.Context, backup, database string) (id string, err error) {
	hooks := new(hooks)
	db := openWriter(database, hooks.register)
	defer func() { err = errors.Join(err, db.Close(), syncFile(database)) }()
	if err := checkFormat(ctx, db, database); err != nil {
		return "", err
	}
	var verdict string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&verdict); err != nil || verdict != "ok" {
		return "", errors.Join(&BackupError{Path: backup, Reason: "has a database that is damaged: " + verdict}, err)
	}
	conn, err := newConn(ctx, db, hooks)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.sql.Close()) }()
	if err := conn.Begin(ctx); err != nil {
		return "", err
	}
	if id, err = sqllog.RenewID(ctx, conn); err != nil {
		return "", errors.Join(err, conn.Rollback(ctx))
	}
	return id, conn.Commit(ctx)
}

func syncFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// install gives the folder its name, in one step.
func install(work, dir string) error {
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // it has got files meanwhile
	}
	if err := os.Rename(work, dir); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(dir))
}
