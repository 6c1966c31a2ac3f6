package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A command without a host of its own is the guest of the one that listens. Where
// that one lives for another command, it must neither leave its guests behind nor let
// one in while it closes. A file's lock sees to both: guests share it, and a host
// that is about to close takes it whole. The system drops the locks of who dies.

// guestPath is the file whose lock guests share.
func guestPath(data string) string { return filepath.Join(data, "guests") }

// pause is the time between two looks at a lock that somebody else has.
const pause = 20 * time.Millisecond

// enter makes the command a guest until the file is closed. It waits while a host
// closes.
func enter(ctx context.Context, data string) (guest *os.File, err error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	return lock(ctx, data, syscall.LOCK_SH)
}

// closing closes a host when it has no guests, and lets none in until it is closed.
// When ctx ends first, the host closes all the same: its person wants it to.
func closing(ctx context.Context, data string, close func() error) error {
	file, err := lock(ctx, data, syscall.LOCK_EX)
	if err != nil && ctx.Err() == nil {
		return errors.Join(err, close())
	}
	if err != nil {
		return close()
	}
	return errors.Join(close(), file.Close())
}

// lock waits for the lock, as long as ctx lasts.
func lock(ctx context.Context, data string, how int) (*os.File, error) {
	file, err := os.OpenFile(guestPath(data), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of guests: %w", err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return file, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			err = again(ctx)
		case errors.Is(err, syscall.EINTR):
			err = nil
		default:
			err = fmt.Errorf("lock %s: %w", file.Name(), err)
		}
		if err != nil {
			file.Close()
			return nil, err
		}
	}
}

// again waits a little, or answers why ctx ended.
func again(ctx context.Context) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
