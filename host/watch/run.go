package watch

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// run turns hints and time into changes.
func (w *Watcher) run() {
	defer close(w.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-w.stop:
			return
		case event := <-w.source.Events():
			w.hint(event.Name)
		case err := <-w.source.Errors():
			w.lost(err)
		case <-w.wake:
		case <-timer.C:
		}
		if !w.tell(w.settle(time.Now())) {
			return
		}
		timer.Reset(time.Until(w.next()))
	}
}

// hint looks at what an event may be about.
func (w *Watcher) hint(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for _, i := range w.watched.meant(path) {
		if w.folders[i.folder.path] != i.folder {
			continue
		}
		if i.entry == "" {
			w.scan = now // the folder itself came, went or is another
			continue
		}
		i.folder.touch(i.entry, now, w.options.Settle)
	}
}

// lost looks at everything: some hint did not come, whatever the error is.
func (w *Watcher) lost(error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scan = time.Now()
}

// settle answers the changes of the entries that stayed the same for long enough.
func (w *Watcher) settle(now time.Time) []Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !now.Before(w.scan) {
		w.scan = now.Add(w.options.Recheck)
		w.sync()
		for _, f := range w.folders {
			f.scan(now, w.options.Settle)
		}
	}
	due := false
	for _, f := range w.folders {
		for _, p := range f.pending {
			due = due || !now.Before(p.due)
		}
	}
	if !due {
		return nil
	}
	w.sync() // first: what is written into a new folder from here on gives a hint
	var changes []Change
	for _, f := range w.folders {
		changes = append(changes, f.settle(now, w.options.Settle, w.options.Patience)...)
	}
	slices.SortFunc(changes, func(a, b Change) int {
		if a.Path < b.Path {
			return -1
		}
		return 1
	})
	return changes
}

// tell hands out changes, until the watcher is closed.
func (w *Watcher) tell(changes []Change) bool {
	w.mu.Lock()
	poor := w.poor
	say := poor != nil && !w.told && w.options.Polling != nil
	w.told = w.told || poor != nil
	w.mu.Unlock()
	if say {
		w.options.Polling(poor.directory, poor.reason)
	}
	for _, change := range changes {
		select {
		case <-w.stop:
			return false
		default:
		}
		w.mu.Lock()
		current := w.folders[change.Folder] != nil
		w.mu.Unlock()
		if current {
			w.options.Changed(change)
		}
	}
	return true
}

// next is when there is something to do without a hint.
func (w *Watcher) next() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := w.scan
	for _, f := range w.folders {
		for _, p := range f.pending {
			if p.due.Before(next) {
				next = p.due
			}
		}
	}
	return next
}

// maxSyncs bounds how often what is of interest is asked again while it changes.
const maxSyncs = 4

// sync watches the directories that are of interest now, and no others. What comes and
// goes between the look and the watch gives no hint, so it looks again afterwards; while
// that shows something else, everything is looked at once more soon. Where hints are
// missing, everything is looked at sooner.
func (w *Watcher) sync() {
	wanted := w.wanted()
	for range maxSyncs {
		whole := w.follow(wanted)
		seen := w.wanted()
		if whole && maps.EqualFunc(wanted, seen, slices.Equal) {
			return
		}
		wanted = seen
	}
	if soon := time.Now().Add(w.options.Settle); soon.Before(w.scan) {
		w.scan = soon
	}
}

// wanted are the directories that are of interest now.
func (w *Watcher) wanted() interests {
	wanted := interests{}
	for _, path := range slices.Sorted(maps.Keys(w.folders)) {
		wanted.of(w.folders[path])
	}
	return wanted
}

// follow watches these directories, and reports whether all of them are there. Those that
// were watched are added anew: they may have been replaced.
func (w *Watcher) follow(wanted interests) (whole bool) {
	w.poor, whole = nil, true
	for _, directory := range wanted.directories() {
		err := w.source.Add(directory)
		if errors.Is(err, os.ErrNotExist) {
			whole = false
			continue
		}
		if err == nil && w.remote(directory) {
			err = errRemote
		}
		if err != nil && w.poor == nil {
			w.poor = &poverty{directory, err}
		}
	}
	for _, directory := range w.watched.directories() {
		if wanted[directory] == nil {
			_ = w.source.Remove(directory) // it may be gone, and with it its watch
		}
	}
	w.watched = wanted
	if poll := time.Now().Add(w.options.Poll); w.poor != nil && poll.Before(w.scan) {
		w.scan = poll
	}
	return whole
}

// errRemote: what others write there gives no hint.
var errRemote = errors.New("it is on a network file system, which does not tell of the changes of others")

// racySpan is how long a file system may show the same time.
const racySpan = 50 * time.Millisecond

// settled keeps an entry as it was told.
func (f *folder) settled(name string, l look, now time.Time) {
	if l.state == (fingerprint{}) {
		delete(f.known, name)
		return
	}
	f.known[name] = known{state: l.state, racy: now.Sub(l.newest) < racySpan}
}

// names are the entries that there are or were.
func (f *folder) names() map[string]bool {
	names := map[string]bool{}
	for name := range f.known {
		names[name] = true
	}
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return names
	}
	for _, entry := range entries {
		if !Ignored(entry.Name()) {
			names[entry.Name()] = true
		}
	}
	return names
}

// touch looks at an entry that there was a hint of.
func (f *folder) touch(name string, now time.Time, settle time.Duration) {
	l := lookAt(filepath.Join(f.path, name))
	if _, is := f.known[name]; !is && l.state == (fingerprint{}) && f.pending[name] == nil {
		return // no entry
	}
	f.pending[name] = &pending{look: l, since: now, due: now.Add(settle), hint: true}
}

// scan looks for what changed without a hint.
func (f *folder) scan(now time.Time, settle time.Duration) {
	for name := range f.names() {
		if f.pending[name] != nil {
			continue
		}
		if l := lookAt(filepath.Join(f.path, name)); l.state != f.known[name].state {
			f.pending[name] = &pending{look: l, since: now, due: now.Add(settle)}
		}
	}
}

// settle looks again at the entries whose time has come.
func (f *folder) settle(now time.Time, settle, patience time.Duration) []Change {
	var changes []Change
	for name, p := range f.pending {
		if now.Before(p.due) {
			continue
		}
		path := filepath.Join(f.path, name)
		l := lookAt(path)
		switch {
		case l.state != p.state:
			p.look, p.since, p.due = l, now, now.Add(settle)
		case !l.whole && now.Sub(p.since) < patience:
			p.due = now.Add(settle)
		default:
			delete(f.pending, name)
			before := f.known[name]
			f.settled(name, l, now)
			if l.state != before.state || before.racy && p.hint {
				changes = append(changes, Change{Folder: f.path, Path: path, Removed: l.state == fingerprint{}})
			}
		}
	}
	return changes
}
