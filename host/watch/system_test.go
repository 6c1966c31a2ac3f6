package watch

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// watching is a watcher of the system's files, by the system's clock.
type watching struct {
	*testing.T
	w    *Watcher
	told chan Change
	last Change
}

func watchFor(t *testing.T, options Options) *watching {
	t.Helper()
	r := &watching{T: t, told: make(chan Change, 10_000)}
	options.Changed = func(c Change) { r.told <- c }
	options.Recheck = time.Hour // hints alone must do
	var err error
	if r.w, err = New(options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.w.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// wait takes the next change, which must be of path. The last one may come once more:
// on a busy machine a test's own write may pause for the settle time.
func (r *watching) wait(path string, removed bool) {
	r.Helper()
	for {
		select {
		case got := <-r.told:
			if got.Path == path && got.Removed == removed {
				r.last = got
				return
			}
			if got != r.last {
				r.Fatalf("told of %+v, want %s, removed %v", got, path, removed)
			}
		case <-time.After(20 * time.Second):
			r.Fatalf("nothing was told of %s", path)
		}
	}
}

func TestASaveIsTold(t *testing.T) {
	folder := real(t)
	entry := mkdir(t, folder, "p")
	r := watchFor(t, Options{Folders: []string{folder}})
	path := filepath.Join(folder, "a.wasm")
	write(t, path, module(1))
	r.wait(path, false)
	write(t, path+".new", module(2))
	rename(t, path+".new", path)
	r.wait(path, false)
	remove(t, path)
	r.wait(path, true)
	write(t, filepath.Join(entry, "plugin.toml"), []byte("x"))
	r.wait(entry, false)
	write(t, filepath.Join(mkdir(t, entry, "testdata"), "a.json"), []byte("x"))
	r.wait(entry, false)
	write(t, filepath.Join(entry, "testdata", "a.json"), []byte("y"))
	r.wait(entry, false)
}

// TestALateFolder is watched as soon as it is there, however deep it is, and again
// when it was taken away or replaced.
func TestALateFolder(t *testing.T) {
	top := real(t)
	folder := filepath.Join(top, "a", "b", "plugins")
	r := watchFor(t, Options{Folders: []string{folder}})
	path := filepath.Join(folder, "a.wasm")
	mkdir(t, folder)
	write(t, path, module(1))
	r.wait(path, false)
	write(t, path, module(2))
	r.wait(path, false)
	remove(t, filepath.Join(top, "a"))
	r.wait(path, true)
	mkdir(t, folder)
	write(t, path, module(3))
	r.wait(path, false)
	rename(t, folder, folder+"-old")
	r.wait(path, true)
	mkdir(t, folder)
	write(t, path, module(4))
	r.wait(path, false)
	write(t, path, module(5))
	r.wait(path, false)
}

// TestLinks: entries that are links change with what they lead to.
func TestLinks(t *testing.T) {
	folder, build := real(t), real(t)
	write(t, filepath.Join(build, "out.wasm"), module(1))
	write(t, filepath.Join(mkdir(t, build, "v1"), "plugin.toml"), []byte("1"))
	write(t, filepath.Join(mkdir(t, build, "v2"), "plugin.toml"), []byte("2"))
	current := filepath.Join(build, "current")
	symlink(t, "v1", current)
	one, two := filepath.Join(folder, "one.wasm"), filepath.Join(folder, "two")
	symlink(t, filepath.Join(build, "out.wasm"), one)
	symlink(t, current, two)
	r := watchFor(t, Options{Folders: []string{folder}})
	write(t, filepath.Join(build, "out.wasm"), module(2))
	r.wait(one, false)
	write(t, filepath.Join(build, "v1", "plugin.toml"), []byte("1 and more"))
	r.wait(two, false)
	symlink(t, "v2", current+".new")
	rename(t, current+".new", current)
	r.wait(two, false)
	write(t, filepath.Join(build, "v2", "plugin.toml"), []byte("2 and more"))
	r.wait(two, false)
	remove(t, filepath.Join(build, "out.wasm"))
	r.wait(one, true)
	write(t, filepath.Join(build, "out.wasm"), module(3))
	r.wait(one, false)
}

// TestTwoNames: one directory watched under two names serves both.
func TestTwoNames(t *testing.T) {
	top := real(t)
	folder, other := mkdir(t, top, "folder"), filepath.Join(top, "other")
	symlink(t, folder, other)
	r := watchFor(t, Options{Folders: []string{folder, other}})
	write(t, filepath.Join(folder, "a.wasm"), module(1))
	r.wait(filepath.Join(folder, "a.wasm"), false)
	r.wait(filepath.Join(other, "a.wasm"), false)
}

// TestStorm: a thousand saves in a second are few notices, and after the last of them
// the file has its last content.
func TestStorm(t *testing.T) {
	folder := real(t)
	path := filepath.Join(folder, "a.wasm")
	seen := make(chan int64, 10_000)
	w, err := New(Options{Folders: []string{folder}, Recheck: time.Hour, Changed: func(c Change) {
		info, err := os.Stat(c.Path)
		if err != nil {
			t.Error(err)
			return
		}
		seen <- info.Size()
	}})
	if err != nil {
		t.Fatal(err)
	}
	const saves = 1000
	tick := time.NewTicker(time.Second / saves)
	defer tick.Stop()
	for i := range saves {
		write(t, path, module(i))
		<-tick.C
	}
	notices, last := 0, int64(len(module(saves-1)))
	for size := int64(0); size != last; {
		select {
		case size = <-seen:
			notices++
		case <-time.After(20 * time.Second):
			t.Fatalf("the last content was not told, after %d notices", notices)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if notices += len(seen); notices > saves/10 { // one, where the saves did not pause
		t.Errorf("%d notices of %d saves", notices, saves)
	}
}

// TestBuild: a module of 3 MB that a compiler writes in pieces, beside what else it
// writes, is one notice.
func TestBuild(t *testing.T) {
	folder := real(t)
	entry := mkdir(t, folder, "p")
	r := watchFor(t, Options{Folders: []string{folder}, Patience: time.Minute})
	path := filepath.Join(entry, "p.wasm")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	content := module(3 << 20)
	for i := 0; len(content) > 0; i++ {
		piece := content[:min(len(content), 32<<10)]
		if _, err := file.Write(piece); err != nil {
			t.Fatal(err)
		}
		content = content[len(piece):]
		write(t, filepath.Join(folder, "go-build"+strconv.Itoa(i)+".o"), piece[:10])
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	r.wait(entry, false)
	r.last = Change{} // the entry must not come once more
	other := filepath.Join(folder, "z.wasm")
	write(t, other, module(1))
	r.wait(other, false)
}
