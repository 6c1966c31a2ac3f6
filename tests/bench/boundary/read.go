package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/plinthhost/plinth/host/fsys"
)

const (
	readSize = 1 << 20
	// readsPerRound is how many files one round reads on each side.
	readsPerRound = 200
)

// measureRead compares reading a file of 1 MiB as fs.read does, below the engine,
// with os.ReadFile: three folders deep, from the system's cache.
func measureRead(context.Context) error {
	folder, err := os.MkdirTemp(os.Getenv("PLINTH_BENCH_DIR"), "plinth-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	const below = "src/internal/part/data.bin"
	name := filepath.Join(folder, below)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(name, make([]byte, readSize), 0o644); err != nil {
		return err
	}
	roots, err := fsys.New(map[string]string{"location": folder}, []string{filepath.Join(folder, "private")})
	if err != nil {
		return err
	}
	var ours, theirs []float64
	for range rounds {
		mine, err := timed(func() (int, error) { return readOpened(roots, below) })
		if err != nil {
			return err
		}
		other, err := timed(func() (int, error) {
			data, err := os.ReadFile(name)
			return len(data), err
		})
		if err != nil {
			return err
		}
		ours, theirs = append(ours, mine), append(theirs, other)
	}
	fmt.Fprintf(os.Stderr, "read 1 MiB: host %.0f µs, os.ReadFile %.0f µs\n", median(ours)*1e6, median(theirs)*1e6)
	figure("fs_read_1mib_over_os", median(ours)/median(theirs), "ratio")
	return nil
}

// timed is the mean time of a read, in seconds.
func timed(read func() (int, error)) (float64, error) {
	began := time.Now()
	for range readsPerRound {
		n, err := read()
		if err != nil {
			return 0, err
		}
		if n != readSize {
			return 0, fmt.Errorf("read %d bytes", n)
		}
	}
	return time.Since(began).Seconds() / readsPerRound, nil
}

func readOpened(roots *fsys.Roots, path string) (int, error) {
	file, err := roots.Open("location", path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	data := make([]byte, file.Info().Size+1) // one more, so that the end shows
	n, err := file.ReadAt(data, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}
