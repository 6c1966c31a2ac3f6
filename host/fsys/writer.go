package fsys

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Writer commits changes to files. Commits of one Writer that touch the same file
// follow each other, so there is one for the whole process. The zero value is
// ready.
type Writer struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // by absolute path; closed when it is free

	look func(stage string, change int) // tests look on here
}

// looked lets a test look on before a stage of a change.
func (w *Writer) looked(stage string, change int) {
	if w.look != nil {
		w.look(stage, change)
	}
}

// lock takes every place. It answers the error that ctx was cancelled for, with
// nothing taken.
func (w *Writer) lock(ctx context.Context, places []string) (unlock func(), err error) {
	places = slices.Compact(slices.Sorted(slices.Values(places)))
	for i, place := range places {
		if err := w.take(ctx, place); err != nil {
			w.free(places[:i])
			return nil, err
		}
	}
	return func() { w.free(places) }, nil
}

func (w *Writer) take(ctx context.Context, place string) error {
	for {
		w.mu.Lock()
		taken := w.taken[place]
		if taken == nil {
			if w.taken == nil {
				w.taken = make(map[string]chan struct{})
			}
			w.taken[place] = make(chan struct{})
			w.mu.Unlock()
			return nil
		}
		w.mu.Unlock()
		select {
		case <-taken:
		case <-ctx.Done():
			return fmt.Errorf("commit: %w", context.Cause(ctx))
		}
	}
}

func (w *Writer) free(places []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, place := range places {
		close(w.taken[place])
		delete(w.taken, place)
	}
}
