package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// readFile reads at most limit bytes of a regular file that is to hold what holds
// says. Its errors name no path.
func readFile(path string, limit int64, holds string) ([]byte, error) {
	info, err := os.Stat(path) // first: opening a pipe would wait for its other end
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("is not a regular file; name one with %s", holds)
	}
	var file *os.File
	if err == nil {
		file, err = os.Open(path)
	}
	if err != nil {
		return nil, unreadable(err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit))
	if err != nil {
		return nil, unreadable(err)
	}
	return data, nil
}

// unreadable is a file's error without its path.
func unreadable(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err
	}
	return fmt.Errorf("cannot be read: %w", err)
}
