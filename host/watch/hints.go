package watch

import (
	"fmt"

	"github.com/fsnotify/fsnotify"
)

// Hints are what the system says of the changes in directories, for who looks at the files
// by itself: each is a hint where to look, some come without a change, and some are lost.
type Hints struct{ watcher *fsnotify.Watcher }

// Hint is one of them.
type Hint = fsnotify.Event

// NewHints begins with no directory. It fails where the system gives no hints.
func NewHints() (*Hints, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("the system tells of no changes: %w", err)
	}
	return &Hints{watcher}, nil
}

// Add begins with a directory, not with those in it. Its hints end when it is removed.
func (h *Hints) Add(directory string) error {
	if err := h.watcher.Add(directory); err != nil {
		return fmt.Errorf("watch %s: %w", directory, err)
	}
	return nil
}

// C has the hints; nil Hints have none.
func (h *Hints) C() <-chan Hint {
	if h == nil {
		return nil
	}
	return h.watcher.Events
}

// Lost tells that hints were lost.
func (h *Hints) Lost() <-chan error {
	if h == nil {
		return nil
	}
	return h.watcher.Errors
}

// Close ends them.
func (h *Hints) Close() error {
	if h == nil {
		return nil
	}
	return h.watcher.Close()
}

// Quiet is a hint of nothing that shows in a file's content.
func Quiet(hint Hint) bool { return hint.Op == fsnotify.Chmod }
