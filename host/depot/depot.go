// Package depot keeps packed plugins in a folder, each in a file named by the SHA-256
// of its bytes. What the log names by digest is there, whole or not at all.
package depot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

const (
	// extension is of a file that is whole; unfinished of one without a name yet.
	extension  = ".wasm"
	unfinished = ".unfinished-"
)

// ErrNotFound is wrapped by errors about a digest that the depot does not have.
var ErrNotFound = errors.New("the depot has no such plugin")

// DamagedError is a file whose bytes are not those of its name any more.
type DamagedError struct {
	Path   string
	Digest string // of its name
	Found  string // of its bytes
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged: its digest is %.16s…, not that of its name; add the plugin again from where it came, or restore the file from a backup", e.Path, e.Found)
}

// Depot is the folder. It may be used from several goroutines, and by one process at a
// time.
type Depot struct {
	folder string
	// change is held shared while a file is put, and alone while one is removed: what Put
	// answered is not taken away by a Remove that came before.
	change sync.RWMutex
}

// Open makes the folder, for this user alone, and removes what a crash left unfinished.
func Open(folder string) (*Depot, error) {
	d := &Depot{folder: folder}
	if err := d.open(); err != nil {
		return nil, fmt.Errorf("open the depot: %w", err)
	}
	return d, nil
}

// LookInto answers the depot in a folder that another process may have open: to read,
// not to keep anything in. The folder need not be there.
func LookInto(folder string) *Depot { return &Depot{folder: folder} }

func (d *Depot) open() error {
	if err := os.MkdirAll(d.folder, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(d.folder, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(d.folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), unfinished) {
			if err := os.RemoveAll(filepath.Join(d.folder, entry.Name())); err != nil {
				return err
			}
		}
	}
	return syncFolder(filepath.Dir(d.folder))
}

// Put keeps a packed plugin durably and answers its digest. What is there already, and
// whole, stays; a damaged file is replaced.
func (d *Depot) Put(packed []byte) (digest string, err error) {
	d.change.RLock()
	defer d.change.RUnlock()
	digest = sum(packed)
	path := d.path(digest)
	if stored, err := os.ReadFile(path); err != nil || !bytes.Equal(stored, packed) {
		if err := d.write(path, packed); err != nil {
			return "", fmt.Errorf("put plugin %.16s… into the depot: %w", digest, err)
		}
	}
	// Also for what is there: whoever wrote it may not have come to this.
	if err := syncFolder(d.folder); err != nil {
		return "", fmt.Errorf("put plugin %.16s… into the depot: %w", digest, err)
	}
	return digest, nil
}

// write makes the file, with all its bytes on disk before it has its name.
func (d *Depot) write(path string, packed []byte) error {
	file, err := os.CreateTemp(d.folder, unfinished)
	if err != nil {
		return err
	}
	_, err = file.Write(packed)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// Get answers a packed plugin after comparing it with its digest. Errors: *DamagedError,
// or one that wraps ErrNotFound.
func (d *Depot) Get(digest string) ([]byte, error) {
	if !IsDigest(digest) {
		return nil, fmt.Errorf("plugin %.64q: %w", digest, ErrNotFound)
	}
	path := d.path(digest)
	packed, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("plugin %s: %w", digest, ErrNotFound)
	case err != nil:
		return nil, fmt.Errorf("get plugin %.16s… from the depot: %w", digest, err)
	}
	if found := sum(packed); found != digest {
		return nil, &DamagedError{Path: path, Digest: digest, Found: found}
	}
	return packed, nil
}

// Has reports whether there is a file of the digest. It does not read it.
func (d *Depot) Has(digest string) (bool, error) {
	if !IsDigest(digest) {
		return false, nil
	}
	_, err := os.Lstat(d.path(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Remove takes a plugin away durably. One that is not there is no error.
func (d *Depot) Remove(digest string) error {
	if !IsDigest(digest) {
		return nil
	}
	d.change.Lock()
	defer d.change.Unlock()
	err := os.Remove(d.path(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = syncFolder(d.folder)
	}
	if err != nil {
		return fmt.Errorf("remove plugin %.16s… from the depot: %w", digest, err)
	}
	return nil
}

// List answers the digests that the depot has, ascending. Other files are none of its.
func (d *Depot) List() ([]string, error) { return List(d.folder) }

func (d *Depot) path(digest string) string { return filepath.Join(d.folder, digest+extension) }

// IsDigest reports whether the text is a SHA-256 in 64 small hexadecimal digits.
func IsDigest(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == sha256.Size && hex.EncodeToString(raw) == text
}

func sum(packed []byte) string {
	digest := sha256.Sum256(packed)
	return hex.EncodeToString(digest[:])
}

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
