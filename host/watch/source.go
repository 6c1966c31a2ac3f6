package watch

import (
	"fmt"

	"github.com/fsnotify/fsnotify"
)

// source gives hints of what changed in directories.
type source interface {
	// Add begins with a directory, again where it has begun before.
	Add(directory string) error
	Remove(directory string) error
	Events() <-chan fsnotify.Event
	// Errors tells that hints were lost.
	Errors() <-chan error
	Close() error
}

type notifier struct{ *fsnotify.Watcher }

// newNotifier is the system's source.
func newNotifier() (source, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return notifier{watcher}, nil
}

func (n notifier) Events() <-chan fsnotify.Event { return n.Watcher.Events }
func (n notifier) Errors() <-chan error          { return n.Watcher.Errors }

// none is the source where the system gives none.
type none struct{ reason error }

func (n none) Add(string) error            { return fmt.Errorf("the system tells of no changes: %w", n.reason) }
func (none) Remove(string) error           { return nil }
func (none) Events() <-chan fsnotify.Event { return nil }
func (none) Errors() <-chan error          { return nil }
func (none) Close() error                  { return nil }
