package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// NetworkError is a data folder on a file system that other computers share.
// Neither locks nor syncs can be relied on there.
type NetworkError struct {
	Dir    string
	System string // for example "NFS"
}

func (e *NetworkError) Error() string {
	return fmt.Sprintf("%s is on a network file system (%s), where neither locks nor syncs can be relied on; "+
		"put the data folder on a local disk", e.Dir, e.System)
}

// refuseNetwork answers a *NetworkError when dir is, or would be made, on a
// network file system. kind answers the name of a network file system that a path
// is on, empty for a local one.
func refuseNetwork(dir string, kind func(path string) (string, error)) error {
	existing := dir
	for {
		_, err := os.Stat(existing)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(existing) == existing {
			return err
		}
		existing = filepath.Dir(existing)
	}
	system, err := kind(existing)
	if err != nil {
		return fmt.Errorf("ask for the file system of %s: %w", existing, err)
	}
	if system != "" {
		return &NetworkError{Dir: dir, System: system}
	}
	return nil
}
