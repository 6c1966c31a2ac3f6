package fsys

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
)

const (
	maxWorkers = 8
	// fileBatch is how many files of a folder are one piece of work.
	fileBatch = 128
)

// tree is one walk over the folders below a folder, by several workers.
type tree struct {
	ctx       context.Context
	selection Selection
	canonical string // the root's folder
	barred    barred
	named     bool // the selected path is that of a file
	folders   bool // folders are chosen and visited too
	depth     int  // how many folders below the first one are entered
	// choose takes a file by its path; what is not taken is not asked about.
	choose func(file entry) bool
	// visit is called for each file that was chosen and may be read, by the worker
	// with that number. What a link leads to has not been asked about.
	visit func(worker int, at *branch, file entry) error

	queue      queue
	asks       atomic.Int64
	denied     atomic.Int64
	unreadable atomic.Int64
}

// branch is a folder of the walk. It is closed when the last piece of work that
// needs it is done.
type branch struct {
	directory
	path    string // relative to the root, with a slash at its end; "" for the root
	level   int    // folders below the first one
	ignores *ignores
	users   atomic.Int32
}

// entry is a file of a branch.
type entry struct {
	name   string
	path   string // relative to the root
	link   bool
	folder bool
}

// work is a folder to be entered, or files to be visited.
type work struct {
	at     *branch
	folder string
	files  []entry
}

// start resolves the selected path and answers the work to begin with.
func (r *Roots) start(ctx context.Context, s Selection) (*tree, work, error) {
	w, err := r.walk(s.Root, s.Path)
	if err != nil {
		return nil, work{}, err
	}
	defer w.close()
	found, err := w.resolve(goal{})
	if err != nil {
		return nil, work{}, err
	}
	first, err := w.branch(!s.Ignored)
	if err != nil {
		return nil, work{}, systemError(s.Path, err)
	}
	t := &tree{ctx: ctx, selection: s, canonical: w.canonical, barred: w.barred, depth: maxDepth - len(w.names)}
	if found.name == "" {
		return t, work{at: first}, nil
	}
	t.named = true
	return t, work{at: first, files: []entry{{name: found.name, path: first.path + found.name}}}, nil
}

// branch is the directory the walk stands in, with the ignore files above it.
func (w *walk) branch(ignored bool) (*branch, error) {
	b := &branch{}
	b.users.Store(1)
	for i, name := range w.names {
		if ignored { // its own ignore files are read when it is listed
			b.ignores = loadIgnores(b.ignores, w.dirs[i], len(b.path), w.dirs[i].has)
		}
		b.path += name + "/"
	}
	var err error
	b.directory, err = w.top().directory(".")
	return b, err
}

// walk does the first work and what comes of it. Errors are of type *Error, those of the
// filter or the cause that the context was cancelled for.
func (t *tree) walk(first work) error {
	t.queue.init()
	t.queue.push(first)
	stop := context.AfterFunc(t.ctx, func() { t.queue.fail(t.ended()) })
	defer stop()
	var workers errgroup.Group
	for worker := range workerCount() {
		workers.Go(func() error { return t.work(worker) })
	}
	err := workers.Wait()
	for _, left := range t.queue.waiting {
		left.at.release()
	}
	if err == nil {
		err = t.ended()
	}
	return err
}

// ended answers why the context has ended, nil when it has not.
func (t *tree) ended() error {
	if t.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("search: %w", context.Cause(t.ctx))
}

func workerCount() int { return min(runtime.GOMAXPROCS(0), maxWorkers) }

// work takes pieces of work until there are no more or one fails.
func (t *tree) work(worker int) error {
	for {
		next, ok, err := t.queue.take()
		if !ok {
			return err
		}
		if err := t.do(worker, next); err != nil {
			t.queue.fail(err)
		}
		t.queue.done()
	}
}

func (t *tree) do(worker int, w work) error {
	defer w.at.release()
	switch {
	case w.files != nil:
		return t.files(worker, w.at, w.files)
	case w.folder != "":
		return t.enter(worker, w.at, w.folder)
	}
	return t.list(worker, w.at)
}

// submit hands out a piece of work, or does it here when enough wait already.
func (t *tree) submit(worker int, w work) error {
	w.at.users.Add(1)
	if t.queue.push(w) {
		return nil
	}
	return t.do(worker, w)
}

func (b *branch) release() {
	if b.users.Add(-1) == 0 {
		b.close()
	}
}

// enter opens a folder below a branch and lists it.
func (t *tree) enter(worker int, above *branch, name string) error {
	place := filepath.Join(t.canonical, above.path, name)
	if t.barred.covers(place) {
		return nil
	}
	d, err := above.directory.directory(name)
	if err != nil {
		return t.skip(above.path+name, err)
	}
	b := &branch{directory: d, path: above.path + name + "/", level: above.level + 1, ignores: above.ignores}
	b.users.Store(1)
	defer b.release()
	if t.barred.holds(place, d.id) {
		return nil
	}
	return t.list(worker, b)
}

// list reads the entries of a folder and hands them out.
func (t *tree) list(worker int, b *branch) error {
	first := true
	var failed error // of a file, which is not the folder's
	err := b.entries(func(batch []fs.DirEntry, last bool) error {
		if first && !t.selection.Ignored {
			has := b.has
			if last { // then these are all
				has = func(name string) bool {
					return slices.ContainsFunc(batch, func(e fs.DirEntry) bool { return e.Name() == name })
				}
			}
			b.ignores = loadIgnores(b.ignores, b.directory, len(b.path), has)
		}
		first = false
		failed = t.handOut(worker, b, batch)
		return failed
	})
	if err != nil && failed == nil {
		return t.skip(path.Clean(b.path), err)
	}
	return failed
}

// handOut queues the folders among entries, last name first, and visits the files.
func (t *tree) handOut(worker int, b *branch, entries []fs.DirEntry) error {
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(b.Name(), a.Name()) })
	var files []entry
	for _, e := range entries {
		directory := e.Type() == fs.ModeDir
		if !directory && e.Type() != 0 && e.Type() != fs.ModeSymlink || !t.selects(e.Name()) {
			continue
		}
		identity := b.path + e.Name()
		if b.ignores.leaveOut(identity, directory) {
			continue
		}
		if !directory || t.folders {
			files = append(files, entry{name: e.Name(), path: identity, link: e.Type() == fs.ModeSymlink, folder: directory})
		}
		if directory && b.level < t.depth {
			if err := t.submit(worker, work{at: b, folder: e.Name()}); err != nil {
				return err
			}
		}
	}
	slices.Reverse(files)
	for len(files) > fileBatch {
		cut := len(files) - fileBatch
		if err := t.submit(worker, work{at: b, files: files[cut:]}); err != nil {
			return err
		}
		files = files[:cut]
	}
	return t.files(worker, b, files)
}

// selects reports whether a name may be seen at all.
func (t *tree) selects(name string) bool {
	switch {
	case !utf8.ValidString(name), strings.HasPrefix(name, temporaryPrefix):
		return false
	case name == gitFolder:
		return t.selection.Hidden && t.selection.Ignored
	}
	return t.selection.Hidden || name[0] != '.'
}
