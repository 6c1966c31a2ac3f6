package wasm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// What a cache may keep. A module that is edited leaves an entry behind with every
// change, so there is a bound on bytes besides the one on age.
const (
	cacheAge   = 30 * 24 * time.Hour // since an entry was used
	cacheBytes = 2 << 30
)

// ours are the names of folders that this package makes in a cache.
var ours = regexp.MustCompile(`^([0-9a-f]{64}-\d+\.\d+|` + compilingPrefix + `\d+)$`)

// entry is a module's folder in the cache.
type entry struct {
	path  string
	used  time.Time
	bytes int64
}

// touch notes that an entry of the cache is used.
func (e *Engine) touch(folder string) {
	now := time.Now()
	if err := os.Chtimes(folder, now, now); err != nil {
		e.options.Logger.Warn("the use of a cached module is not noted, so it may be removed too early", "error", err)
	}
}

// prune removes from a cache what was not used since a time, and of the rest the
// longest unused beyond a number of bytes. Who uses one of them has it in memory.
func prune(dir string, since time.Time, most int64) error {
	entries, err := cacheEntries(dir)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b entry) int { return b.used.Compare(a.used) })
	total := int64(0)
	for _, entry := range entries {
		if total += entry.bytes; entry.used.After(since) && total <= most {
			continue
		}
		total -= entry.bytes
		err = errors.Join(err, os.RemoveAll(entry.path))
	}
	if err != nil {
		return fmt.Errorf("prune the compilation cache: %w", err)
	}
	return nil
}

func cacheEntries(dir string) ([]entry, error) {
	folders, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the compilation cache: %w", err)
	}
	var entries []entry
	for _, folder := range folders {
		if !folder.IsDir() || !ours.MatchString(folder.Name()) {
			continue
		}
		info, err := folder.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process was quicker
		}
		if err != nil {
			return nil, fmt.Errorf("read the compilation cache: %w", err)
		}
		path := filepath.Join(dir, folder.Name())
		entries = append(entries, entry{path: path, used: info.ModTime(), bytes: bytesIn(path)})
	}
	return entries, nil
}

// bytesIn counts what can be read of a folder.
func bytesIn(folder string) (total int64) {
	_ = filepath.WalkDir(folder, func(_ string, file fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := file.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}
