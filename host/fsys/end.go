package fsys

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"
)

// end is where a path leads: the directory that the walk stands in, or a name
// below it.
type end struct {
	missing []string     // folders that would have to be made first
	name    string       // as stored; "" for the directory itself
	stat    *unix.Stat_t // nil when nothing is there
}

// regular ends the walk at a regular file.
func (w *walk) regular(name string, stat *unix.Stat_t, pending []string) (end, error) {
	if len(pending) > 0 {
		return end{}, &Error{Kind: KindNotFound, Path: w.path, Text: fmt.Sprintf("%q on its way is a file, not a directory", name)}
	}
	stored, err := storedName(w.top(), name, idOf(stat))
	if err != nil {
		return end{}, systemError(w.path, err)
	}
	return end{name: stored, stat: stat}, nil
}

// absent ends the walk where the first of names is not there.
func (w *walk) absent(names []string) (end, error) {
	if last := names[len(names)-1]; last == "" || last == "." {
		return end{}, &Error{Kind: KindInvalid, Path: w.path, Text: "it ends like a folder; name a file"}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" || name == "." })
	if slices.Contains(names, "..") {
		return end{}, systemError(w.path, fs.ErrNotExist)
	}
	if len(w.names)+len(names) > maxDepth {
		return end{}, w.tooDeep()
	}
	found := end{missing: names[:len(names)-1], name: names[len(names)-1]}
	if w.barred.covers(w.place(path.Join(names...))) {
		return end{}, w.private()
	}
	return found, nil
}

// identity is the canonical path of an end, "." for the root.
func (w *walk) identity(e end) string {
	identity := path.Join(path.Join(w.names...), path.Join(e.missing...), e.name)
	if identity == "" {
		return "."
	}
	return identity
}

// open opens what the walk has led to, if it still is what was looked at.
func (w *walk) open(e end) (*File, error) {
	if w.barred.holds(w.place(e.name), idOf(e.stat)) {
		return nil, w.private()
	}
	handle, stat, err := w.handle(e)
	if err != nil {
		return nil, systemError(w.path, err)
	}
	identity := w.identity(e)
	return &File{
		handle: handle, id: idOf(stat), info: infoOf(identity, path.Base(identity), stat),
		path: w.path, folder: w.canonical, barred: w.barred,
	}, nil
}

func (w *walk) handle(e end) (*os.File, *unix.Stat_t, error) {
	if e.name == "" {
		dir, err := w.top().directory(".")
		return dir.file, e.stat, err
	}
	fd, stat, err := w.top().regular(e.name)
	if err == nil && idOf(stat) != idOf(e.stat) {
		unix.Close(fd)
		err = errMoved
	}
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fd), e.name), stat, nil
}

// describe says what a file is that is neither regular nor a directory.
func describe(stat *unix.Stat_t) string {
	switch kindOf(stat) {
	case unix.S_IFIFO:
		return "a pipe"
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFCHR, unix.S_IFBLK:
		return "a device"
	}
	return "a special file"
}
