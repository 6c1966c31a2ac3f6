package sqlite

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/mattn/go-sqlite3"

	"github.com/plinthhost/plinth/store"
)

// FormatError is a database that a newer program has written.
type FormatError struct {
	Path  string
	Line  string // migration line, or "format" for the file as a whole
	Found int64
	Known int64
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s was written by a newer program: its %s version is %d and this program knows versions up to %d; "+
		"install the newer program again, or restore a backup made before it ran", e.Path, e.Line, e.Found, e.Known)
}

// resource answers store.ErrFull or store.ErrFailed, wrapped, for an error that
// is the database's own and not its caller's; nil for every other error.
func resource(err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return nil
	}
	switch e.Code {
	case sqlite3.ErrFull:
		return fmt.Errorf("%w: %v", store.ErrFull, e)
	case sqlite3.ErrIoErr:
		if outOfSpace(e) {
			return fmt.Errorf("%w: %v", store.ErrFull, e)
		}
		return fmt.Errorf("%w: %v", store.ErrFailed, e)
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		if e.ExtendedCode == sqlite3.ErrCorruptVTab {
			return nil // a search index of a view, not the database
		}
		return fmt.Errorf("%w: %v", store.ErrFailed, e)
	}
	return nil
}

// outOfSpace tells a write that found no room. A sync that found none is a lost
// write and not among them: the pages are gone from the cache.
func outOfSpace(e sqlite3.Error) bool {
	if e.ExtendedCode == sqlite3.ErrIoErrFsync || e.ExtendedCode == sqlite3.ErrIoErrDirFsync {
		return false
	}
	return e.SystemErrno == syscall.ENOSPC || e.SystemErrno == syscall.EDQUOT
}

// beginFailure says what an error before COMMIT means for the whole group: only
// the database's own errors are more than a refusal.
func beginFailure(err error) error {
	if found := resource(err); found != nil {
		return found
	}
	return fmt.Errorf("open a write transaction: %w", err)
}

// commitFailure says what an error of COMMIT means for the whole group.
func commitFailure(err error) error {
	if found := resource(err); found != nil {
		return found
	}
	var e sqlite3.Error
	if errors.As(err, &e) && (e.Code == sqlite3.ErrBusy || e.Code == sqlite3.ErrConstraint) {
		return fmt.Errorf("commit: %w", err)
	}
	return fmt.Errorf("%w: commit: %v", store.ErrFailed, err)
}

// ended is the error of a context that is over, with its cause.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}
