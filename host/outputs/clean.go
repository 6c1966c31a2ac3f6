package outputs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// interval is the time between two cleanings.
const interval = time.Hour

// Start begins to remove what is too old: now, and every hour until Close. It does
// not wait for the first cleaning; ctx gives its values only. A second Start, and one
// after Close, does nothing.
func (f *Files) Start(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.stop != nil {
		return
	}
	ctx, f.stop = context.WithCancel(context.WithoutCancel(ctx))
	f.cleaner.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			f.clean(ctx)
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// Close ends the cleaning and waits for it. What was kept stays, and Keep goes on
// working. Safe twice, and without Start.
func (f *Files) Close() error {
	f.mu.Lock()
	f.closed = true
	if f.stop != nil {
		f.stop()
	}
	f.mu.Unlock()
	f.cleaner.Wait()
	return nil
}

// clean removes the files that have not changed for the time they are kept. What
// fails is logged and tried again with the next cleaning.
func (f *Files) clean(ctx context.Context) {
	entries, err := os.ReadDir(f.options.Folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.options.Logger.Warn("old tool outputs cannot be listed", "folder", f.options.Folder, "error", err)
	}
	oldest := f.options.Clock.Now().Add(-f.options.Keep)
	removed := 0
	for _, entry := range entries {
		if ctx.Err() != nil {
			break
		}
		if !strings.HasPrefix(entry.Name(), Prefix) || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if err == nil && info.ModTime().Before(oldest) {
			if err = os.Remove(filepath.Join(f.options.Folder, entry.Name())); err == nil {
				removed++
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.options.Logger.Warn("an old tool output cannot be removed", "name", entry.Name(), "error", err)
		}
	}
	if removed > 0 {
		f.options.Logger.Info("removed old tool outputs", "files", removed)
	}
}
