package watch

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// Options configure a Watcher. Only Changed is needed.
type Options struct {
	// Folders are watched from the start; see Add.
	Folders []string
	// Settle is how long an entry must stay the same before it is told. 60 ms.
	Settle time.Duration
	// Patience is how long a module that ends in the middle may stay so before it is
	// told nevertheless. 2 s.
	Patience time.Duration
	// Poll is how often everything is looked at where the system gives no hints, and
	// Recheck where it does. 1 s, 10 s.
	Poll, Recheck time.Duration
	// Changed is told of entries, one call at a time, never from within New, Add or
	// Remove. While it runs nothing is told and nothing is lost. It may call Add and
	// Remove, not Close.
	Changed func(Change)
	// Polling is told once, the first time that something is watched by looking at it
	// each Poll, and why. Nil for nobody. What holds for Changed holds for it.
	Polling func(directory string, reason error)
}

// Change is an entry that was saved, added or removed.
type Change struct {
	Folder string // as it was given, absolute
	Path   string // of the entry: a packed module, or a folder of its own
	// Removed is set when there is nothing by that name any more.
	Removed bool
}

// Watcher watches folders. It is safe for use by several goroutines.
type Watcher struct {
	options Options
	source  source
	remote  func(directory string) bool

	wake chan struct{} // the next due time changed
	stop chan struct{}
	done chan struct{}
	once sync.Once
	err  error // of closing the source

	mu      sync.Mutex
	folders map[string]*folder
	watched interests
	scan    time.Time // when everything is looked at again
	poor    *poverty  // where hints are missing; nil for nowhere
	told    bool      // Polling was
}

// poverty is a directory without hints.
type poverty struct {
	directory string
	reason    error
}

// folder is one that is watched.
type folder struct {
	path    string
	known   map[string]known // what was told, or was there from the start
	pending map[string]*pending
}

// known is an entry as it was told.
type known struct {
	state fingerprint
	// racy: it was looked at so soon after its last change that another one, at once,
	// would not show in its times.
	racy bool
}

// pending is an entry that changed and must settle.
type pending struct {
	look
	since time.Time // of the last change
	due   time.Time // to look again
	hint  bool      // the system told of it
}

// New watches. What is in the folders then is known and not told: who reads them
// afterwards misses nothing. Errors are about the folders' names; where the system
// gives no hints the folders are polled.
func New(options Options) (*Watcher, error) {
	hints, err := newNotifier()
	if err != nil {
		hints = none{err}
	}
	return start(options, hints, remote)
}

func start(options Options, hints source, remote func(string) bool) (*Watcher, error) {
	fill(&options.Settle, 60*time.Millisecond)
	fill(&options.Patience, 2*time.Second)
	fill(&options.Poll, time.Second)
	fill(&options.Recheck, 10*time.Second)
	w := &Watcher{
		options: options, source: hints, remote: remote, folders: map[string]*folder{}, watched: interests{}, scan: time.Now().Add(options.Recheck),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	for _, path := range options.Folders {
		if err := w.Add(path); err != nil {
			return nil, errors.Join(err, hints.Close())
		}
	}
	go w.run()
	return w, nil
}

func fill(field *time.Duration, value time.Duration) {
	if *field <= 0 {
		*field = value
	}
}

// Add watches one more folder, which need not exist yet. What is in it is known and
// not told; what comes with it later is. A folder that is watched already stays so.
func (w *Watcher) Add(path string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.folders[absolute] != nil {
		return nil
	}
	f := &folder{path: absolute, known: map[string]known{}, pending: map[string]*pending{}}
	w.folders[absolute] = f
	w.sync()
	now := time.Now()
	for name := range f.names() {
		f.settled(name, lookAt(filepath.Join(absolute, name)), now)
	}
	w.wakeUp()
	return nil
}

// Remove watches a folder no longer. A change of it may still be told while it runs.
func (w *Watcher) Remove(path string) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return // then it was not added
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.folders, absolute)
	w.sync()
}

// Close ends the watching and waits for Changed to return. It may be called twice.
func (w *Watcher) Close() error {
	w.once.Do(func() {
		close(w.stop)
		<-w.done
		if err := w.source.Close(); err != nil {
			w.err = fmt.Errorf("close the watcher: %w", err)
		}
	})
	return w.err
}

func (w *Watcher) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
