package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plinthhost/plinth/store/sqlite"
)

const (
	appenders = 64
	each      = 150 // events of one appender
	single    = 600 // events of one appender that works alone
)

// syncTime is the median time of writing 4 KiB into a file and syncing it, in µs.
func syncTime(dir string) (float64, error) {
	file, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	page := make([]byte, 4096)
	times := make([]float64, 200)
	for i := range times {
		start := time.Now()
		if _, err := file.WriteAt(page, int64(i%50)*4096); err != nil {
			return 0, err
		}
		if err := syncData(file); err != nil {
			return 0, err
		}
		times[i] = micros(time.Since(start))
	}
	return median(times), nil
}

// appendOverRaw compares 64 appenders on the log with plain inserts of the same
// rows in transactions of the same size, both after a run to warm up.
func appendOverRaw(dir string) (float64, error) {
	l, err := openLog(filepath.Join(dir, "log"), 0)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	if _, err := l.fill(appenders, each, "warm"); err != nil {
		return 0, err
	}
	before := l.Stats()
	logTime, err := l.fill(appenders, each, "run")
	if err != nil {
		return 0, err
	}
	after := l.Stats()
	group := int((after.Writes - before.Writes) / (after.Groups - before.Groups))
	r, err := openRaw(filepath.Join(dir, "raw"))
	if err != nil {
		return 0, err
	}
	defer r.Close()
	if _, err := r.fill(appenders, each, "warm", group); err != nil {
		return 0, err
	}
	rawTime, err := r.fill(appenders, each, "run", group)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(os.Stderr, "log %.1f us, raw %.1f us for each event, %d events in a group\n",
		micros(logTime)/appenders/each, micros(rawTime)/appenders/each, group)
	return float64(logTime) / float64(rawTime), nil
}

// groupOverSingle is how many times faster 64 appenders are in groups than with a
// transaction for each event.
func groupOverSingle(dir string) (float64, error) {
	var took [2]time.Duration
	for i, group := range []int{0, 1} {
		l, err := openLog(filepath.Join(dir, fmt.Sprint(group)), group)
		if err != nil {
			return 0, err
		}
		defer l.Close()
		if _, err := l.fill(appenders, each/5, "warm"); err != nil {
			return 0, err
		}
		if took[i], err = l.fill(appenders, each/5, "run"); err != nil {
			return 0, err
		}
	}
	return float64(took[1]) / float64(took[0]), nil
}

// appendTime is the median time of one append by a single appender, in µs.
func appendTime(dir string) (float64, error) {
	l, err := openLog(dir, 0)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	times := make([]float64, single)
	for i := range times {
		start := time.Now()
		if err := l.append(aggregate(0), i, "run"); err != nil {
			return 0, err
		}
		times[i] = micros(time.Since(start))
	}
	return median(times), nil
}

// appendBytes is what one append writes to the disk when it has a commit of its
// own, in bytes, with its share of the checkpoints.
func appendBytes(dir string) (float64, error) { return writtenBytes(dir, 1, 10*single) }

// appendBytesGrouped is the same with 64 appenders.
func appendBytesGrouped(dir string) (float64, error) { return writtenBytes(dir, appenders, each) }

func writtenBytes(dir string, writers, each int) (float64, error) {
	l, err := openLog(dir, 0)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	before, err := bytesWritten()
	if err != nil {
		return 0, err
	}
	if _, err := l.fill(writers, each, "run"); err != nil {
		return 0, err
	}
	after, err := bytesWritten()
	return float64(after-before) / float64(writers*each), err
}

// bytesWritten is what this process has caused to be written to disks.
func bytesWritten() (n int64, err error) {
	content, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(content)) {
		if _, err := fmt.Sscanf(line, "write_bytes: %d", &n); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("/proc/self/io has no write_bytes")
}

// openTime is how long opening a store with content takes, in ms.
func openTime(dir string) (float64, error) {
	l, err := openLog(dir, 0)
	if err != nil {
		return 0, err
	}
	_, err = l.fill(appenders, each/5, "run")
	if err != nil {
		return 0, err
	}
	if err := l.Close(); err != nil {
		return 0, err
	}
	start := time.Now()
	again, err := sqlite.Open(context.Background(), l.options)
	if err != nil {
		return 0, err
	}
	took := time.Since(start)
	return micros(took) / 1000, again.Close()
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
