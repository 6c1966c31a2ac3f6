package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FolderSum is the files of a folder: the sum is of a line for each, by ascending name,
// with the name and the file's SHA-256.
type FolderSum struct {
	Count  int64  `json:"count"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// folderNames are the regular files of a folder by ascending name, but for those that
// begin with a dot, which are not finished. One that is not there has none.
func folderNames(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.Type().IsRegular() && !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// copyFolder adds what is in one folder to another. Files never change under their
// name, so they are linked if link is set and the disk is the same. One that goes
// meanwhile is left out.
func copyFolder(ctx context.Context, from, to string, link bool) error {
	names, err := folderNames(from)
	if err != nil || len(names) == 0 {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return ended(ctx)
		}
		source, target := filepath.Join(from, name), filepath.Join(to, name)
		if link && os.Link(source, target) == nil {
			continue
		}
		if _, err := os.Lstat(target); err == nil {
			continue // of an earlier time
		}
		file, err := os.Open(source)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = copySynced(file, target)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return syncFolder(to)
}

func sumFolder(folder string) (s FolderSum, err error) {
	names, err := folderNames(folder)
	if err != nil {
		return s, err
	}
	sum := sha256.New()
	for _, name := range names {
		file, err := sumSynced(filepath.Join(folder, name))
		if err != nil {
			return s, err
		}
		sum.Write([]byte(name + " " + file.SHA256 + "\n"))
		s.Count, s.Bytes = s.Count+1, s.Bytes+file.Bytes
	}
	s.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return s, nil
}

// sumFolders answers those of a backup's folders that have files.
func sumFolders(backup string, folders []string) (map[string]FolderSum, error) {
	var sums map[string]FolderSum
	for _, name := range folders {
		sum, err := sumFolder(filepath.Join(backup, name))
		if err != nil {
			return nil, err
		}
		if sum.Count == 0 {
			continue
		}
		if sums == nil {
			sums = map[string]FolderSum{}
		}
		sums[name] = sum
	}
	return sums, nil
}

// copyFolders adds the folders of dir to those of a backup.
func copyFolders(ctx context.Context, dir, backup string, folders []string) error {
	for _, name := range folders {
		if err := copyFolder(ctx, filepath.Join(dir, name), filepath.Join(backup, name), true); err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	return nil
}

// restoreFolders copies a backup's folders and holds them to their sums.
func restoreFolders(ctx context.Context, backup, work string, m Manifest) error {
	for name, want := range m.Folders {
		if !filepath.IsLocal(name) || filepath.Base(name) != name || name == "." {
			return &BackupError{Path: backup, Reason: fmt.Sprintf("has a %s that names the folder %q; take another backup", manifestName, name)}
		}
		if err := copyFolder(ctx, filepath.Join(backup, name), filepath.Join(work, name), false); err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
		found, err := sumFolder(filepath.Join(work, name))
		if err != nil {
			return err
		}
		if found != want {
			return &BackupError{Path: backup, Reason: fmt.Sprintf("is damaged: %s has %d files of %d bytes that are not the %d of %d bytes which the manifest names; take another backup",
				name, found.Count, found.Bytes, want.Count, want.Bytes)}
		}
	}
	return nil
}
