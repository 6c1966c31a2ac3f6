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
	"slices"
	"time"
)

// BackupOptions say what is noted in a backup.
type BackupOptions struct {
	Plinth string // version of the program
	Now    time.Time
	// Folders beside the database are copied too, as far as they are there: flat ones,
	// whose files never change and are there for as long as the log names them.
	Folders []string
}

// Backup writes a backup of the store into a folder that is empty or not there, while
// the store is used. It has everything that was committed when it began, and every blob
// and file that this names. Errors: *BackupError for a folder that cannot be used.
func (s *Store) Backup(ctx context.Context, folder string, options BackupOptions) (Manifest, error) {
	if err := s.gate.enter(); err != nil {
		return Manifest{}, err
	}
	defer s.gate.leave()
	// Blobs that the copy of the database names must be there until they are copied.
	s.cleaning.Lock()
	defer s.cleaning.Unlock()
	return backup(ctx, s.options.Dir, folder, options)
}

// Backup is Store.Backup of a folder that nothing has open. It changes nothing in it,
// not even the version of its tables. Errors: *LockedError.
func Backup(ctx context.Context, dir, folder string, options BackupOptions) (Manifest, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Manifest{}, err
	}
	if _, err := os.Stat(filepath.Join(dir, databaseName)); err != nil {
		return Manifest{}, fmt.Errorf("back up %s: there is no store: %w", dir, err)
	}
	lock, err := acquireLock(filepath.Join(dir, "lock"))
	if err != nil {
		return Manifest{}, fmt.Errorf("back up %s: %w", dir, err)
	}
	m, err := backup(ctx, dir, folder, options)
	return m, errors.Join(err, lock.release())
}

func backup(ctx context.Context, dir, folder string, options BackupOptions) (Manifest, error) {
	m, err := makeBackup(ctx, dir, folder, options)
	if err != nil {
		if found := resource(err); found != nil {
			err = found
		}
		return Manifest{}, fmt.Errorf("back up %s: %w", dir, err)
	}
	return m, nil
}

func makeBackup(ctx context.Context, dir, folder string, options BackupOptions) (m Manifest, err error) {
	if folder, err = filepath.Abs(folder); err != nil {
		return m, err
	}
	switch inside, err := liesIn(folder, dir); {
	case err != nil:
		return m, err
	case inside:
		return m, &BackupError{Path: folder, Reason: "would lie in the data folder itself; choose a place outside, better on another disk"}
	}
	if err := makeEmpty(folder); err != nil {
		return m, err
	}
	m = Manifest{Format: backupFormat, Version: backupVersion, Created: options.Now.UTC().Truncate(time.Second), Plinth: options.Plinth}
	// Before the database and again after it: what is removed or added meanwhile is there.
	if err := copyFolders(ctx, dir, folder, options.Folders); err != nil {
		return m, err
	}
	database := filepath.Join(folder, databaseName)
	if m.Log, err = copyDatabase(ctx, filepath.Join(dir, databaseName), database); err != nil {
		return m, fmt.Errorf("copy the database: %w", err)
	}
	if m.Database, err = sumSynced(database); err != nil {
		return m, err
	}
	// The database first: what it names is in the blobs by now.
	copied := blobCopy{ctx: ctx, from: filepath.Join(dir, blobsName), to: filepath.Join(folder, blobsName), link: true}
	if m.Blobs, err = copied.all(); err != nil {
		return m, fmt.Errorf("copy the blobs: %w", err)
	}
	m.Damaged = copied.damaged
	if m.Missing, err = copied.missing(database); err != nil {
		return m, fmt.Errorf("look for blobs that are missing: %w", err)
	}
	if err := copyFolders(ctx, dir, folder, options.Folders); err != nil {
		return m, err
	}
	if m.Folders, err = sumFolders(folder, options.Folders); err != nil {
		return m, err
	}
	if err := syncFolder(filepath.Dir(folder)); err != nil {
		return m, err
	}
	return m, m.write(folder)
}

// liesIn reports whether a path, which need not be there, is the folder or lies in it,
// whatever names lead to either.
func liesIn(path, folder string) (bool, error) {
	outer, err := os.Stat(folder)
	if err != nil {
		return false, err
	}
	// What is not there has no links; the folder above it is a real one once resolved.
	at, err := filepath.EvalSymlinks(path)
	for errors.Is(err, os.ErrNotExist) && filepath.Dir(path) != path {
		path = filepath.Dir(path)
		at, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return false, nil //nolint:nilerr // makeEmpty says what is wrong with it
	}
	for {
		if info, err := os.Stat(at); err == nil && os.SameFile(info, outer) {
			return true, nil
		}
		above := filepath.Dir(at)
		if above == at {
			return false, nil
		}
		at = above
	}
}

// makeEmpty makes a folder for this user alone, or finds it empty.
func makeEmpty(folder string) error {
	entries, err := os.ReadDir(folder)
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = os.MkdirAll(folder, 0o700)
	case err == nil && len(entries) > 0:
		return &BackupError{Path: folder, Reason: "has files already; choose an empty folder, or one that is not there"}
	case err == nil:
		err = os.Chmod(folder, 0o700)
	}
	if err != nil && resource(err) == nil {
		return &BackupError{Path: folder, Reason: fmt.Sprintf("cannot be made: %v; choose a folder that the host's user can write", err)}
	}
	return err
}

// copyDatabase writes what is committed into a new file, through a connection of its
// own: it reads one snapshot, however long that takes. It answers the log's id.
func copyDatabase(ctx context.Context, from, to string) (id string, err error) {
	if _, err := makeFile(to); err != nil { // private before it has anything
		return "", err
	}
	db := sql.OpenDB(newConnector(from, "deferred", []string{"temp_store = MEMORY", "synchronous = FULL", "wal_autocheckpoint = 0"}, nil))
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, `VACUUM INTO $1`, to); err != nil {
		return "", err
	}
	written := sql.OpenDB(newConnector(to, "deferred", []string{"query_only = ON"}, nil))
	defer func() { err = errors.Join(err, written.Close()) }()
	err = written.QueryRowContext(ctx, `SELECT value FROM log_meta WHERE name = 'id'`).Scan(&id)
	return id, err
}

func sumSynced(path string) (s FileSum, err error) {
	file, err := os.Open(path)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.Sync(); err != nil {
		return s, err
	}
	hash := sha256.New()
	s.Bytes, err = io.Copy(hash, file)
	s.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return s, err
}

// blobCopy copies a folder of blobs. What does not have the sum of its name is left out.
type blobCopy struct {
	ctx      context.Context
	from, to string
	link     bool // rather than copy, where the disk is the same: a blob never changes
	damaged  []string
}

func (c *blobCopy) all() (all BlobsSum, err error) {
	if err := os.MkdirAll(c.to, 0o700); err != nil {
		return all, err
	}
	sum, made := sha256.New(), ""
	err = walkBlobs(c.from, func(digest, path string) error {
		if c.ctx.Err() != nil {
			return ended(c.ctx)
		}
		folder := filepath.Join(c.to, digest[:2])
		if folder != made {
			if err := errors.Join(syncIf(made), os.MkdirAll(folder, 0o700)); err != nil {
				return err
			}
			made = folder
		}
		size, err := c.one(digest, path, filepath.Join(folder, digest[2:]))
		if errors.Is(err, errDamaged) {
			c.damaged = append(c.damaged, digest)
			return nil
		}
		sum.Write([]byte(digest + "\n"))
		all.Count, all.Bytes = all.Count+1, all.Bytes+size
		return err
	})
	all.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return all, errors.Join(err, syncIf(made), syncFolder(c.to))
}

// missing lists the blobs that hold the data of events of the copied database and that
// were not there to be copied.
func (c *blobCopy) missing(database string) (missing []string, err error) {
	db := sql.OpenDB(newConnector(database, "deferred", []string{"query_only = ON"}, nil))
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(c.ctx, `SELECT DISTINCT lower(hex(digest)) FROM log_event WHERE digest IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var digest string
		if err := rows.Scan(&digest); err != nil {
			return nil, err
		}
		if _, damaged := slices.BinarySearch(c.damaged, digest); damaged || !isDigest(digest) {
			continue
		}
		_, err := os.Stat(filepath.Join(c.to, digest[:2], digest[2:]))
		switch {
		case errors.Is(err, os.ErrNotExist):
			missing = append(missing, digest)
		case err != nil:
			return nil, err
		}
	}
	slices.Sort(missing)
	return missing, rows.Err()
}

func syncIf(folder string) error {
	if folder == "" {
		return nil
	}
	return syncFolder(folder)
}

var errDamaged = errors.New("the blob does not have the sum of its name")

func (c *blobCopy) one(digest, from, to string) (size int64, err error) {
	file, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	hash := sha256.New()
	if c.link && os.Link(from, to) == nil {
		size, err = io.Copy(hash, file)
	} else {
		size, err = copySynced(io.TeeReader(file, hash), to)
	}
	if err == nil && hex.EncodeToString(hash.Sum(nil)) != digest {
		err = errDamaged
	}
	if err != nil {
		err = errors.Join(err, os.Remove(to))
	}
	return size, err
}

func copySynced(from io.Reader, to string) (size int64, err error) {
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	size, err = io.Copy(file, from)
	if err == nil {
		err = file.Sync()
	}
	return size, errors.Join(err, file.Close())
}

// walkBlobs visits the blobs of a folder by ascending digest. Other files are none of
// ours.
func walkBlobs(root string, visit func(digest, path string) error) error {
	folders, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if !folder.IsDir() || len(folder.Name()) != 2 {
			continue
		}
		files, err := os.ReadDir(filepath.Join(root, folder.Name()))
		if err != nil {
			return err
		}
		for _, file := range files {
			digest := folder.Name() + file.Name()
			if !file.Type().IsRegular() || !isDigest(digest) {
				continue
			}
			if err := visit(digest, filepath.Join(root, folder.Name(), file.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func isDigest(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == sha256.Size && hex.EncodeToString(raw) == text
}
