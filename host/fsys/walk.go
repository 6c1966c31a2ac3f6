package fsys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// walk goes from a root's folder to one file, holding every directory on the
// way open. What it has passed is canonical: names[i] leads from dirs[i] to
// dirs[i+1], and no link is among them.
type walk struct {
	path      string // as the caller wrote it
	folder    string // the root's folder as configured
	canonical string // the same with links resolved
	barred    barred

	dirs  []*os.Root
	names []string
	links int
}

// open walks the whole path and opens what is there.
func (w *walk) open() (*File, error) {
	pending, err := w.start(w.path)
	if err != nil {
		return nil, err
	}
	if err := w.checkBarred(); err != nil {
		return nil, err
	}
	for len(pending) > 0 {
		name := pending[0]
		pending = pending[1:]
		if name == "" || name == "." {
			continue
		}
		if name == ".." {
			if err := w.up(); err != nil {
				return nil, err
			}
			continue
		}
		info, err := w.top().Lstat(name)
		if err != nil {
			return nil, systemError(w.path, err)
		}
		switch info.Mode().Type() {
		case fs.ModeSymlink:
			pending, err = w.follow(name, pending)
		case fs.ModeDir:
			err = w.down(name, info)
		case 0:
			return w.regular(name, info, pending)
		default:
			err = &Error{Kind: KindInvalid, Path: w.path, Text: "it is " + describe(info.Mode()) + "; only files and directories can be read"}
		}
		if err != nil {
			return nil, err
		}
	}
	return w.directory()
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
	return &Error{Kind: KindDenied, Path: w.path, Text: fmt.Sprintf("it leads outside the folder %q", w.folder)}
}

func (w *walk) top() *os.Root { return w.dirs[len(w.dirs)-1] }

func (w *walk) up() error {
	if len(w.names) == 0 {
		return w.outside()
	}
	w.top().Close()
	w.dirs = w.dirs[:len(w.dirs)-1]
	w.names = w.names[:len(w.names)-1]
	return nil
}

// down enters the directory that info was sampled from. "/." makes the system
// open name as a directory or not at all, so a pipe put in its place cannot
// block; a link put there would be another file.
func (w *walk) down(name string, info fs.FileInfo) error {
	if len(w.names) == maxDepth {
		return &Error{Kind: KindInvalid, Path: w.path, Text: fmt.Sprintf("it is more than %d folders deep", maxDepth)}
	}
	stored, err := storedName(w.top(), name, info)
	if err != nil {
		return systemError(w.path, err)
	}
	dir, err := w.top().OpenRoot(name + "/.")
	if err != nil {
		return systemError(w.path, err)
	}
	opened, err := dir.Stat(".")
	if err == nil && !os.SameFile(info, opened) {
		err = errMoved
	}
	if err != nil {
		dir.Close()
		return systemError(w.path, err)
	}
	w.dirs = append(w.dirs, dir)
	w.names = append(w.names, stored)
	return w.checkBarred()
}

// follow answers the components still to walk when name is a link.
func (w *walk) follow(name string, pending []string) ([]string, error) {
	w.links++
	if w.links > maxLinks {
		return nil, &Error{Kind: KindInvalid, Path: w.path, Text: fmt.Sprintf("it goes through more than %d symbolic links", maxLinks)}
	}
	target, err := w.top().Readlink(name)
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

// regular opens the regular file that info was sampled from.
func (w *walk) regular(name string, info fs.FileInfo, pending []string) (*File, error) {
	if len(pending) > 0 {
		return nil, &Error{Kind: KindNotFound, Path: w.path, Text: fmt.Sprintf("%q on its way is a file, not a directory", name)}
	}
	stored, err := storedName(w.top(), name, info)
	if err != nil {
		return nil, systemError(w.path, err)
	}
	handle, err := w.top().OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, systemError(w.path, err)
	}
	return w.finish(handle, info, path.Join(append(w.names, stored)...))
}

func (w *walk) directory() (*File, error) {
	handle, err := w.top().Open(".")
	if err != nil {
		return nil, systemError(w.path, err)
	}
	info, err := w.top().Stat(".")
	if err != nil {
		handle.Close()
		return nil, systemError(w.path, err)
	}
	identity := path.Join(w.names...)
	if identity == "" {
		identity = "."
	}
	return w.finish(handle, info, identity)
}

// finish hands out handle if it is the file that was looked at.
func (w *walk) finish(handle *os.File, looked fs.FileInfo, identity string) (*File, error) {
	opened, err := handle.Stat()
	if err == nil && !os.SameFile(looked, opened) {
		err = errMoved
	}
	if err == nil && w.barred.holds(filepath.Join(w.canonical, identity), opened) {
		err = errBarred
	}
	if err != nil {
		handle.Close()
		return nil, w.refuse(err)
	}
	return &File{handle: handle, info: infoOf(identity, path.Base(identity), opened), path: w.path, barred: w.barred, folder: w.canonical}, nil
}

// checkBarred refuses the directory the walk stands in when it is Plinth's own.
func (w *walk) checkBarred() error {
	info, err := w.top().Stat(".")
	if err != nil {
		return systemError(w.path, err)
	}
	if w.barred.holds(filepath.Join(w.canonical, path.Join(w.names...)), info) {
		return w.refuse(errBarred)
	}
	return nil
}

func (w *walk) refuse(err error) error {
	if errors.Is(err, errBarred) {
		return &Error{Kind: KindDenied, Path: w.path, Text: errBarred.Error()}
	}
	return systemError(w.path, err)
}

func (w *walk) close() {
	for _, dir := range w.dirs {
		dir.Close()
	}
}

// describe says what a file is that is neither regular nor a directory.
func describe(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}
