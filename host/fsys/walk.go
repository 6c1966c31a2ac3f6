package fsys

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// walk goes from a root's folder to one file, holding every directory on the
// way open. What it has passed is canonical: names[i] leads from dirs[i] to
// dirs[i+1], and no link is among them.
type walk struct {
	path      string // as the caller wrote it
	folder    string // the root's folder as configured
	canonical string // the same with links resolved
	barred    barred

	dirs  []directory
	names []string
	links int
}

// walk begins at the root called name. The caller closes the walk.
func (r *Roots) walk(name, path string) (*walk, error) {
	folder, ok := r.folders[name]
	if !ok {
		return nil, &Error{Kind: KindDenied, Path: path, Text: fmt.Sprintf("there is no root called %q here", name)}
	}
	if err := checkPath(path); err != nil {
		return nil, err
	}
	canonical, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, systemError(path, err)
	}
	top, err := openFolder(canonical)
	if err != nil {
		return nil, systemError(path, err)
	}
	w := &walk{path: path, folder: folder, canonical: canonical, barred: resolveBarred(r.deny), dirs: []directory{top}}
	if w.barred.holds(canonical, top.id) {
		w.close()
		return nil, w.private()
	}
	return w, nil
}

// goal says what a path may lead to besides a file or directory that is there.
type goal struct {
	absent bool // nothing yet
	own    bool // its last name must be the file's own, not a link's
}

// resolve walks the whole path.
func (w *walk) resolve(goal goal) (end, error) {
	pending, err := w.start(w.path)
	if err != nil {
		return end{}, err
	}
	for len(pending) > 0 {
		name := pending[0]
		pending = pending[1:]
		if name == "" || name == "." {
			continue
		}
		if name == ".." {
			if err := w.up(); err != nil {
				return end{}, err
			}
			continue
		}
		stat, err := w.top().stat(name)
		if goal.absent && errors.Is(err, fs.ErrNotExist) {
			return w.absent(append([]string{name}, pending...))
		}
		if err != nil {
			return end{}, systemError(w.path, err)
		}
		switch kindOf(stat) {
		case unix.S_IFLNK:
			if goal.own && len(pending) == 0 {
				return end{}, &Error{Kind: KindInvalid, Path: w.path, Text: "it is a symbolic link; name what it leads to"}
			}
			pending, err = w.follow(name, pending)
		case unix.S_IFDIR:
			err = w.down(name, stat)
		case unix.S_IFREG:
			return w.regular(name, stat, pending)
		default:
			err = &Error{Kind: KindInvalid, Path: w.path, Text: "it is " + describe(stat) + "; only files and directories can be used"}
		}
		if err != nil {
			return end{}, err
		}
	}
	stat, err := w.top().stat(".")
	if err != nil {
		return end{}, systemError(w.path, err)
	}
	return end{stat: stat}, nil
}

// start answers the components of a path from the root's folder. An absolute
// path must begin with that folder, in either of its spellings.
func (w *walk) start(p string) ([]string, error) {
	if !filepath.IsAbs(p) {
		return strings.Split(p, "/"), nil
	}
	for _, folder := range []string{w.folder, w.canonical} {
		if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(folder, "/")); ok && (rest == "" || rest[0] == '/') {
			return strings.Split(rest, "/"), nil
		}
	}
	return nil, w.outside()
}

func (w *walk) outside() error {
	return &Error{Kind: KindDenied, Path: w.path, Text: fmt.Sprintf("it leads outside the folder %q; give the absolute path of what it leads to", w.folder)}
}

func (w *walk) private() error {
	return &Error{Kind: KindDenied, Path: w.path, Text: barredText}
}

func (w *walk) top() directory { return w.dirs[len(w.dirs)-1] }

func (w *walk) up() error {
	if len(w.names) == 0 {
		return w.outside()
	}
	w.top().close()
	w.dirs = w.dirs[:len(w.dirs)-1]
	w.names = w.names[:len(w.names)-1]
	return nil
}

// down enters the directory that stat describes.
func (w *walk) down(name string, stat *unix.Stat_t) error {
	if len(w.names) == maxDepth {
		return w.tooDeep()
	}
	stored, err := storedName(w.top(), name, idOf(stat))
	if err != nil {
		return systemError(w.path, err)
	}
	if w.barred.holds(w.place(stored), idOf(stat)) {
		return w.private()
	}
	dir, err := w.top().directory(stored)
	if err == nil && dir.id != idOf(stat) {
		dir.close()
		err = errMoved
	}
	if err != nil {
		return systemError(w.path, err)
	}
	w.dirs = append(w.dirs, dir)
	w.names = append(w.names, stored)
	return nil
}

func (w *walk) tooDeep() error {
	return &Error{Kind: KindInvalid, Path: w.path, Text: fmt.Sprintf("it is more than %d folders deep", maxDepth)}
}

// follow answers the components still to walk when name is a link.
func (w *walk) follow(name string, pending []string) ([]string, error) {
	w.links++
	if w.links > maxLinks {
		return nil, &Error{Kind: KindInvalid, Path: w.path, Text: fmt.Sprintf("it goes through more than %d symbolic links", maxLinks)}
	}
	target, err := w.top().link(name)
	if err != nil {
		return nil, systemError(w.path, err)
	}
	parts, err := w.start(target)
	if err != nil {
		return nil, err
	}
	if filepath.IsAbs(target) {
		for len(w.names) > 0 {
			if err := w.up(); err != nil {
				return nil, err
			}
		}
	}
	return append(parts, pending...), nil
}

func (w *walk) close() {
	for _, dir := range w.dirs {
		dir.close()
	}
}

// place is the canonical absolute path of a name in the directory the walk stands
// in.
func (w *walk) place(name string) string {
	return filepath.Join(w.canonical, path.Join(w.names...), name)
}
