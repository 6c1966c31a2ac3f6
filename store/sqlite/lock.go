package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// LockedError is a store that another process has open.
type LockedError struct {
	Path  string
	PID   int       // 0 when the holder has not written it yet
	Host  string    // where the holder runs
	Since time.Time // when it started
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s is held by another process that is just starting or stopping; try again", e.Path)
	}
	return fmt.Sprintf("%s is held by process %d on %s since %s; stop that process, or give this one another data folder",
		e.Path, e.PID, e.Host, e.Since.Format(time.RFC3339))
}

// lockFile keeps other processes out of the store. The kernel drops the lock
// when the process ends, however it ends.
type lockFile struct{ file *os.File }

func acquireLock(path string) (*lockFile, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := waitForLock(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	l := &lockFile{file: file}
	if err := l.writeHolder(); err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", path, err), l.release())
	}
	return l, nil
}

// A process that was killed while it started another may be outlived by that one's first
// moments, in which it has the lock, too.
const (
	orphanPatience = 2 * time.Second
	orphanPause    = 10 * time.Millisecond
)

// waitForLock locks the file. While the holder is a process of this computer that is no
// more, it tries again for a while.
func waitForLock(file *os.File) error {
	for began := time.Now(); ; time.Sleep(orphanPause) {
		err := flock(file)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		holder := readHolder(file)
		if !holder.dead() || time.Since(began) > orphanPatience {
			return holder
		}
	}
}

// dead reports that the holder ran on this computer and does not any more.
func (e *LockedError) dead() bool {
	here, err := os.Hostname()
	return err == nil && e.PID > 0 && e.Host == here && errors.Is(unix.Kill(e.PID, 0), unix.ESRCH)
}

func flock(file *os.File) error {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EINTR {
			return err
		}
	}
}

func (l *lockFile) writeHolder() error {
	host, err := os.Hostname()
	if err != nil {
		host = "this computer"
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err = l.file.WriteAt(fmt.Appendf(nil, "pid %d\nhost %s\nsince %s\n",
		os.Getpid(), host, time.Now().UTC().Format(time.RFC3339)), 0)
	return err
}

// readHolder answers a *LockedError with what the holder wrote.
func readHolder(file *os.File) *LockedError {
	locked := &LockedError{Path: file.Name()}
	content, err := io.ReadAll(io.NewSectionReader(file, 0, 4096))
	if err != nil {
		return locked
	}
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "pid":
			locked.PID, _ = strconv.Atoi(value)
		case "host":
			locked.Host = value
		case "since":
			locked.Since, _ = time.Parse(time.RFC3339, value)
		}
	}
	return locked
}

// release empties the file, so that it names nobody, and drops the lock.
func (l *lockFile) release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}
