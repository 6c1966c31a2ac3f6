package fsys

import (
	"errors"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"
)

// swap gives every file its new name, one after the other, up to the first that
// fails.
func (c *commit) swap() error {
	for i := range c.changes {
		c.writer.looked("swap", i)
		s := &c.steps[i]
		if err := s.swap(c.changes[i]); err != nil {
			return errors.Join(c.failed(i, err), c.sync())
		}
		c.results[i].Outcome = Done
		c.results[i].Existed = c.changes[i].Op == OpWrite && s.source.present
	}
	return c.sync()
}

func (s *step) swap(change Change) error {
	if err := s.look(change); err != nil {
		return err
	}
	switch change.Op {
	case OpRemove:
		return s.source.folder.remove(s.source.name)
	case OpRename:
		return s.swapNames()
	}
	return s.put(&s.source, change.Expect == Absent)
}

// swapNames carries a rename out. One with content puts that under the new path before
// it takes the old path away: the file is there all the time.
func (s *step) swapNames() error {
	respelled := s.source.spelledOnlyOtherwise(s.to)
	switch {
	case s.temporary == nil && !respelled:
		return s.source.folder.renameNew(s.source.name, s.to.folder, s.to.name)
	case s.temporary == nil:
		return s.source.folder.rename(s.source.name, s.to.folder, s.to.name)
	case respelled:
		if err := s.put(&s.source, false); err != nil {
			return err
		}
		return s.source.folder.rename(s.source.name, s.to.folder, s.to.name)
	}
	if err := s.put(s.to, true); err != nil {
		return err
	}
	if err := s.source.folder.remove(s.source.name); err != nil {
		return errors.Join(err, s.to.folder.remove(s.to.name))
	}
	return nil
}

// put gives the content its name, which may have to be new.
func (s *step) put(place *target, isNew bool) error {
	rename := place.folder.rename
	if isNew {
		rename = place.folder.renameNew
	}
	if err := rename(s.temporary.name, place.folder, place.name); err != nil {
		return err
	}
	s.temporary.name = ""
	return nil
}

// spelledOnlyOtherwise reports whether both are the same entry of one directory.
func (t *target) spelledOnlyOtherwise(to *target) bool {
	from, err := t.folder.stat(t.name)
	if err != nil || t.folder != to.folder {
		return false
	}
	there, err := to.folder.stat(to.name)
	return err == nil && from.Dev == there.Dev && from.Ino == there.Ino && from.Nlink == 1
}

// sync has the disk keep the names.
func (c *commit) sync() error {
	var all error
	for identity, folder := range c.folders {
		if err := folder.file.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
			all = errors.Join(all, commitError(identity, err))
		}
	}
	return all
}

// release closes the folders.
func (c *commit) release() {
	for _, folder := range c.folders {
		folder.close()
	}
	clear(c.folders)
}

// close removes what has not got its name and the folders that nobody needs.
func (c *commit) close() {
	for _, s := range c.steps {
		if s.temporary != nil {
			s.temporary.drop()
		}
	}
	for _, made := range slices.Backward(c.made) {
		made.above.removeFolder(made.name) //nolint:errcheck // one that holds a file stays
	}
	c.release()
	c.unlock()
}

// make makes a folder, unless one is there.
func (d directory) make(name string) (made bool, err error) {
	err = again(func() error { return unix.Mkdirat(d.fd(), name, 0o755) })
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

func (d directory) remove(name string) error {
	return again(func() error { return unix.Unlinkat(d.fd(), name, 0) })
}

func (d directory) removeFolder(name string) error {
	return again(func() error { return unix.Unlinkat(d.fd(), name, unix.AT_REMOVEDIR) })
}

// rename replaces what is there.
func (d directory) rename(name string, to directory, newName string) error {
	return again(func() error { return unix.Renameat(d.fd(), name, to.fd(), newName) })
}

// renameNew fails when something is there. File systems that cannot promise it are
// asked first.
func (d directory) renameNew(name string, to directory, newName string) error {
	err := again(func() error { return renameExclusive(d.fd(), name, to.fd(), newName) })
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	if _, err := to.stat(newName); err == nil {
		return unix.EEXIST
	}
	return d.rename(name, to, newName)
}
