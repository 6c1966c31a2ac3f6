package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/plinthhost/plinth/store"
)

// blobDir keeps values in files named by their digest: ab/cdef… below root.
// A file appears under its name only when it is whole and on disk.
type blobDir struct {
	root string

	mu   sync.Mutex
	made map[string]bool // folders that are on disk, guarded by mu

	// use is held shared while a file is found and its time set anew, and alone while
	// one is removed: what was just put or opened is younger than anything removed.
	use sync.RWMutex
}

var _ store.Blobs = (*blobDir)(nil)

const unfinished = "unfinished" // folder of files that have no name yet

// openBlobDir makes the folder and removes what a crash left unfinished.
func openBlobDir(root string) (*blobDir, error) {
	d := &blobDir{root: root, made: make(map[string]bool)}
	if err := os.RemoveAll(filepath.Join(root, unfinished)); err != nil {
		return nil, err
	}
	return d, os.MkdirAll(filepath.Join(root, unfinished), 0o700)
}

func (d *blobDir) path(digest string) (string, error) {
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) != sha256.Size || hex.EncodeToString(raw) != digest {
		return "", fmt.Errorf("%q is not a digest of 64 hex digits: %w", digest, store.ErrNotFound)
	}
	return filepath.Join(d.root, digest[:2], digest[2:]), nil
}

// Put stores the value durably and answers its digest.
func (d *blobDir) Put(ctx context.Context, value []byte) (string, error) {
	if ctx.Err() != nil {
		return "", ended(ctx)
	}
	digest := sum(value)
	path, err := d.path(digest)
	if err != nil {
		return "", err
	}
	if err := d.put(path, value); err != nil {
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			err = fmt.Errorf("%w: %w", store.ErrFull, err)
		}
		return "", fmt.Errorf("put blob %s: %w", digest, err)
	}
	return digest, nil
}

func (d *blobDir) put(path string, value []byte) error {
	folder := filepath.Dir(path)
	if err := d.makeFolder(folder); err != nil {
		return err
	}
	// What is there may be from a put that has not synced the folder yet.
	if d.reuse(path, value) {
		return syncFolder(folder)
	}
	temp, err := d.writeTemp(value)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return syncFolder(folder)
}

// reuse reports that the value is there, as young as if it were written now.
func (d *blobDir) reuse(path string, value []byte) bool {
	d.use.RLock()
	defer d.use.RUnlock()
	stored, err := os.ReadFile(path)
	return err == nil && bytes.Equal(stored, value) && refresh(path) == nil
}

func refresh(path string) error {
	now := time.Now()
	return os.Chtimes(path, now, now)
}

// refreshAfter is the age from which opening a blob makes it young again: who looks at
// it may be about to name it in an event.
const refreshAfter = time.Hour

// makeFolder makes a folder below root, once and durably.
func (d *blobDir) makeFolder(folder string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made[folder] {
		return nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := syncFolder(d.root); err != nil {
		return err
	}
	d.made[folder] = true
	return nil
}

// writeTemp answers the path of a synced file with the value.
func (d *blobDir) writeTemp(value []byte) (path string, err error) {
	file, err := os.CreateTemp(filepath.Join(d.root, unfinished), "")
	if err != nil {
		return "", err
	}
	_, err = file.Write(value)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// Get answers the value after comparing it with its digest.
func (d *blobDir) Get(ctx context.Context, digest string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	path, err := d.path(digest)
	if err != nil {
		return nil, err
	}
	value, err := os.ReadFile(path)
	if err != nil {
		return nil, missing(digest, err)
	}
	if sum(value) != digest {
		return nil, corrupt(path)
	}
	return value, nil
}

// Open answers a reader over the value, which was compared with its digest.
func (d *blobDir) Open(ctx context.Context, digest string) (io.ReadSeekCloser, int64, error) {
	if ctx.Err() != nil {
		return nil, 0, ended(ctx)
	}
	path, err := d.path(digest)
	if err != nil {
		return nil, 0, err
	}
	file, err := d.open(path)
	if err != nil {
		return nil, 0, missing(digest, err)
	}
	size, err := verify(file, digest)
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, size, nil
}

func (d *blobDir) open(path string) (*os.File, error) {
	d.use.RLock()
	defer d.use.RUnlock()
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && time.Since(info.ModTime()) > refreshAfter {
		err = refresh(path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// remove takes a blob away unless it has been put or opened since before. It reports
// whether it did.
func (d *blobDir) remove(path string, before time.Time) (bool, error) {
	d.use.Lock()
	defer d.use.Unlock()
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.ModTime().Before(before):
		return false, nil
	}
	return true, os.Remove(path)
}

func verify(file *os.File, digest string) (size int64, err error) {
	hash := sha256.New()
	if size, err = io.Copy(hash, file); err != nil {
		return 0, fmt.Errorf("read blob %s: %w", digest, err)
	}
	if hex.EncodeToString(hash.Sum(nil)) != digest {
		return 0, corrupt(file.Name())
	}
	_, err = file.Seek(0, io.SeekStart)
	return size, err
}

func sum(value []byte) string {
	digest := sha256.Sum256(value)
	return hex.EncodeToString(digest[:])
}

func missing(digest string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("blob %s: %w", digest, store.ErrNotFound)
	}
	return fmt.Errorf("blob %s: %w", digest, err)
}

func corrupt(path string) error {
	return fmt.Errorf("blob file %s does not have the digest of its name; restore it from a backup: %w", path, store.ErrCorrupt)
}

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
