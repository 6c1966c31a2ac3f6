package measure

import (
	"os"
	"path/filepath"
	"time"
)

// SyncTime is the median time of appending a page to a file and syncing it, in µs.
func SyncTime(dir string) (float64, error) {
	file, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	page := make([]byte, 4096)
	times := make([]float64, 100)
	for i := range times {
		began := time.Now()
		if _, err := file.Write(page); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		times[i] = Milliseconds(time.Since(began)) * 1000
	}
	return Median(times), nil
}

// WakeDelays answers n times how many milliseconds passed from when an idle
// goroutine was to run until it ran.
func WakeDelays(n int) []float64 {
	delays := make([]float64, n)
	for i := range delays {
		due := time.Now().Add(time.Millisecond)
		time.Sleep(time.Until(due))
		delays[i] = Milliseconds(time.Since(due))
	}
	return delays
}
