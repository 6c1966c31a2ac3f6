package watch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
)

// hints is a source that a test plays.
type hints struct {
	events chan fsnotify.Event
	errors chan error

	mu     sync.Mutex
	fails  error
	added  map[string]int
	closed bool
}

func (h *hints) Add(directory string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.added[directory]++
	return h.fails
}

func (h *hints) Remove(directory string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.added, directory)
	return nil
}

func (h *hints) Events() <-chan fsnotify.Event { return h.events }
func (h *hints) Errors() <-chan error          { return h.errors }
func (h *hints) Close() error                  { h.closed = true; return nil }

// rig is a watcher on a clock of its own, with real files and played hints.
type rig struct {
	*testing.T
	hints  *hints
	folder string
	w      *Watcher
	began  time.Time

	mu      sync.Mutex
	changes []string // "+120ms saved a.wasm"
	polling []string
}

// bubble runs a test with a watcher of one folder; prepare fills it before.
func bubble(t *testing.T, prepare func(r *rig, o *Options), test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, folder: mkdir(t, real(t), "plugins"),
			hints: &hints{events: make(chan fsnotify.Event), errors: make(chan error), added: map[string]int{}}}
		options := Options{Folders: []string{r.folder}, Changed: r.changed,
			Polling: func(directory string, reason error) {
				r.polling = append(r.polling, directory+": "+reason.Error())
			}}
		if prepare != nil {
			prepare(r, &options)
		}
		var err error
		if r.w, err = start(options, r.hints, func(path string) bool { return strings.HasSuffix(path, "remote") }); err != nil {
			t.Fatal(err)
		}
		r.began = time.Now()
		test(r)
		if err := errors.Join(r.w.Close(), r.w.Close()); err != nil || !r.hints.closed {
			t.Errorf("close: %v", err)
		}
	})
}

func (r *rig) changed(c Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	what := " saved "
	if c.Removed {
		what = " removed "
	}
	name, err := filepath.Rel(c.Folder, c.Path)
	if err != nil {
		r.Error(err)
	}
	r.changes = append(r.changes, "+"+time.Since(r.began).String()+what+name)
}

func (r *rig) path(name string) string { return filepath.Join(r.folder, name) }

// save writes a file and hints at it.
func (r *rig) save(name string, content []byte) {
	r.Helper()
	write(r, r.path(name), content)
	r.hint(name)
}

func (r *rig) hint(name string) {
	r.hints.events <- fsnotify.Event{Name: r.path(name), Op: fsnotify.Write}
}

// want lets time pass and compares what was told until then.
func (r *rig) want(after time.Duration, changes ...string) {
	r.Helper()
	time.Sleep(after)
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if diff := cmp.Diff(changes, r.changes); diff != "" {
		r.Error(diff)
	}
	r.changes = nil
}

// TestBurst: one notice of many writes, the settle time after the last.
func TestBurst(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		for i := range 30 {
			r.save("a.wasm", module(i))
			time.Sleep(50 * time.Millisecond)
		}
		r.want(9*time.Millisecond, []string(nil)...)
		r.want(time.Millisecond, "+1.51s saved a.wasm")
		r.want(time.Hour)
	})
}

// TestGrowing: a file that grows without a hint is not told before it is the same
// for the settle time.
func TestGrowing(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		mkdir(t, r.path("p"))
		r.hint("p")
		for i := range 10 {
			time.Sleep(40 * time.Millisecond)
			write(t, r.path("p/plugin.toml"), make([]byte, i+1))
		}
		r.want(79*time.Millisecond, []string(nil)...)
		r.want(21*time.Millisecond, "+480ms saved p")
	})
}

// TestHalfModule: one that ends in the middle is waited for, but not for ever.
func TestHalfModule(t *testing.T) {
	whole := module(300)
	bubble(t, nil, func(r *rig) {
		r.save("a.wasm", whole[:100])
		time.Sleep(time.Second)
		r.save("a.wasm", whole)
		r.want(60*time.Millisecond, "+1.06s saved a.wasm")
		r.save("a.wasm", whole[:100])
		r.want(1999*time.Millisecond, []string(nil)...)
		r.want(61*time.Millisecond, "+3.1s saved a.wasm")
		r.save("a.wasm", []byte("no module"))
		r.want(60*time.Millisecond, "+3.18s saved a.wasm")
	})
}

func TestEntries(t *testing.T) {
	bubble(t, func(r *rig, _ *Options) {
		write(r, r.path("old.wasm"), module(1))
		write(r, filepath.Join(mkdir(r, r.path("p"), "testdata"), "in.json"), []byte("{}"))
	}, func(r *rig) {
		r.want(time.Minute, []string(nil)...) // what was there is known

		r.save("README.md", []byte("not an entry"))
		r.save("main.o", []byte("not an entry"))
		r.save(".hidden.wasm", module(1))
		r.save("p/.plugin.toml.swp", []byte("x"))
		r.save("p/plugin.toml~", []byte("x"))
		r.save("p/4913", []byte("x"))
		r.want(time.Minute, []string(nil)...)

		r.began = time.Now()
		r.save("p/testdata/in.json", []byte("{ }"))
		r.save("old.wasm", module(2))
		r.want(60*time.Millisecond, "+60ms saved old.wasm", "+60ms saved p")

		remove(t, r.path("old.wasm"))
		r.hint("old.wasm")
		r.want(60*time.Millisecond, "+120ms removed old.wasm")

		write(t, r.path("p/new.tmp"), module(9)) // as editors replace
		r.hint("p/new.tmp")
		rename(t, r.path("p/new.tmp"), r.path("p/m.wasm"))
		r.hint("p/m.wasm")
		r.want(60*time.Millisecond, "+180ms saved p")

		rename(t, r.path("p"), r.path("q"))
		r.hint("p")
		r.hint("q")
		r.want(60*time.Millisecond, "+240ms removed p", "+240ms saved q")
	})
}

// TestBriefly: what comes and goes within the settle time is not told.
func TestBriefly(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		r.save("a.wasm", module(1))
		remove(t, r.path("a.wasm"))
		r.hint("a.wasm")
		r.want(time.Minute, []string(nil)...)
	})
}

// TestWithoutHints: hints that are lost or never come delay a notice, no more.
func TestWithoutHints(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		write(t, r.path("a.wasm"), module(1))
		r.want(time.Second, []string(nil)...)
		r.hints.errors <- fsnotify.ErrEventOverflow
		r.want(60*time.Millisecond, "+1.06s saved a.wasm")
		write(t, r.path("a.wasm"), module(2))
		write(t, r.path("b.wasm"), module(2))
		r.want(9999*time.Millisecond, []string(nil)...)
		r.want(61*time.Millisecond, "+11.06s saved a.wasm", "+11.06s saved b.wasm")
	})
}

// TestPolling: where the system gives no hints the folder is looked at each second,
// and that is said once.
func TestPolling(t *testing.T) {
	for name, prepare := range map[string]func(r *rig, o *Options){
		"limit":  func(r *rig, _ *Options) { r.hints.fails = errors.New("no space left") },
		"remote": func(r *rig, o *Options) { o.Folders = append(o.Folders, mkdir(r, r.folder, "remote")) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, prepare, func(r *rig) {
				for i := range 3 {
					write(t, r.path("a.wasm"), module(i))
					time.Sleep(2300 * time.Millisecond)
				}
				r.want(0, "+1.06s saved a.wasm", "+3.06s saved a.wasm", "+5.06s saved a.wasm")
				reason := map[string]string{"limit": filepath.Dir(r.folder) + ": no space left",
					"remote": r.path("remote") + ": it is on a network file system, which does not tell of the changes of others"}
				if diff := cmp.Diff([]string{reason[name]}, r.polling); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestNoSource: a system that gives nothing at all is polled too.
func TestNoSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder, told, reasons := real(t), make(chan Change, 1), make(chan string, 1)
		w, err := start(Options{Folders: []string{folder}, Changed: func(c Change) { told <- c },
			Polling: func(_ string, reason error) { reasons <- reason.Error() }}, none{os.ErrPermission}, func(string) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, "a.wasm"), module(1))
		if got := <-told; got.Path != filepath.Join(folder, "a.wasm") {
			t.Error(got)
		}
		if got := <-reasons; got != "the system tells of no changes: permission denied" {
			t.Error(got)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestFoldersComeAndGo while the watcher runs.
func TestFoldersComeAndGo(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		other := mkdir(t, filepath.Dir(r.folder), "other")
		write(t, filepath.Join(other, "a.wasm"), module(1))
		if err := errors.Join(r.w.Add(other), r.w.Add(other)); err != nil {
			t.Fatal(err)
		}
		r.want(time.Minute, []string(nil)...)
		r.began = time.Now()
		write(t, filepath.Join(other, "a.wasm"), module(2))
		r.hints.events <- fsnotify.Event{Name: filepath.Join(other, "a.wasm")}
		r.want(60*time.Millisecond, "+60ms saved a.wasm")
		write(t, filepath.Join(other, "a.wasm"), module(3))
		r.hints.events <- fsnotify.Event{Name: filepath.Join(other, "a.wasm")}
		r.w.Remove(other)
		r.want(time.Minute, []string(nil)...)
		if r.hints.added[other] != 0 || r.hints.added[r.folder] == 0 {
			t.Errorf("watched: %v", r.hints.added)
		}
	})
}

// TestChangedMayBeSlow: what happens while it runs is told afterwards.
func TestChangedMayBeSlow(t *testing.T) {
	release := make(chan struct{})
	var once sync.Once
	bubble(t, func(r *rig, o *Options) {
		o.Changed = func(c Change) {
			once.Do(func() { <-release })
			r.changed(c)
		}
		release = make(chan struct{})
	}, func(r *rig) {
		r.save("a.wasm", module(1))
		time.Sleep(time.Second)
		write(t, r.path("a.wasm"), module(2))
		go r.hint("a.wasm")
		time.Sleep(time.Second)
		close(release)
		r.want(time.Second, "+2s saved a.wasm", "+2.06s saved a.wasm")
	})
}

// TestCloseWaits for Changed, and tells nothing after it.
func TestCloseWaits(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	bubble(t, func(r *rig, o *Options) {
		entered, release = make(chan struct{}), make(chan struct{})
		o.Changed = func(c Change) {
			entered <- struct{}{}
			<-release
			r.changed(c)
		}
	}, func(r *rig) {
		write(t, r.path("b.wasm"), module(1))
		r.save("a.wasm", module(1))
		r.hint("b.wasm")
		<-entered
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			if err := r.w.Close(); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close did not wait")
		default:
		}
		close(release)
		<-closed
		r.want(time.Minute, "+60ms saved a.wasm")
	})
}
