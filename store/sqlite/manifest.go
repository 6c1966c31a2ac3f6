package sqlite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	manifestName  = "manifest.json"
	backupFormat  = "plinth.backup"
	backupVersion = 1
	databaseName  = "plinth.db"
	blobsName     = "blobs"
)

// Manifest says what a backup has. It is written last: a folder without one is no
// backup.
type Manifest struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Created time.Time `json:"created"`
	// Plinth is the version of the program, Log the id of the log that was backed up.
	Plinth   string   `json:"plinth,omitempty"`
	Log      string   `json:"log"`
	Database FileSum  `json:"database"`
	Blobs    BlobsSum `json:"blobs"`
	// Damaged are blobs that did not have the sum of their name and were left out.
	Damaged []string `json:"damaged,omitempty"`
	// Missing hold the data of events, and were not there.
	Missing []string `json:"missing,omitempty"`
	// Folders are those of BackupOptions that have files, by name.
	Folders map[string]FolderSum `json:"folders,omitempty"`
}

// FileSum is one file.
type FileSum struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// BlobsSum is all blobs: the sum is of their digests, ascending, each with a line break.
// A blob's own sum is its name.
type BlobsSum struct {
	Count  int64  `json:"count"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// BackupError is a folder that is no backup, or no whole one any more.
type BackupError struct {
	Path   string
	Reason string
}

func (e *BackupError) Error() string { return fmt.Sprintf("the backup %s %s", e.Path, e.Reason) }

// ReadManifest reads what a backup says of itself. Errors: *BackupError.
func ReadManifest(backup string) (m Manifest, err error) {
	content, err := os.ReadFile(filepath.Join(backup, manifestName))
	if errors.Is(err, os.ErrNotExist) {
		return m, &BackupError{Path: backup, Reason: "has no " + manifestName + ": it was not finished, or is none; make another one"}
	}
	if err != nil {
		return m, err
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&m)
	switch {
	case m.Format != backupFormat || m.Format == "" && err != nil:
		return m, &BackupError{Path: backup, Reason: fmt.Sprintf("has a %s that is none of a backup", manifestName)}
	case m.Version != backupVersion:
		return m, &BackupError{Path: backup, Reason: fmt.Sprintf("has version %d and this program reads %d; use the program that made it, or a newer one", m.Version, backupVersion)}
	case err != nil:
		return m, &BackupError{Path: backup, Reason: fmt.Sprintf("has a %s that cannot be read: %v", manifestName, err)}
	}
	return m, nil
}

// write makes the backup one: durably, and by one rename.
func (m *Manifest) write(backup string) error {
	encoded, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(backup, manifestName)
	if err := writeSynced(path+".new", append(encoded, '\n')); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncFolder(backup)
}

func writeSynced(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}
