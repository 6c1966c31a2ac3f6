package fsys

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// temporaryPrefix begins the names of files that are not whole yet. They stand
// beside the file they will become and are locked by the process that writes them.
const temporaryPrefix = ".plinth-commit-"

// temporary is a file on its way to its name.
type temporary struct {
	folder directory
	name   string
	file   *os.File
}

// newTemporary makes an empty file in a folder.
func newTemporary(folder directory, mode uint32) (*temporary, error) {
	for {
		t := &temporary{folder: folder, name: temporaryPrefix + rand.Text()}
		fd, err := folder.open(t.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, mode)
		if err != nil {
			return nil, err
		}
		t.file = os.NewFile(uintptr(fd), t.name)
		// A file system without locks has no cleaning either.
		err = lock(fd)
		if !errors.Is(err, unix.EWOULDBLOCK) && linked(fd) {
			return t, nil
		}
		t.file.Close() // somebody has cleaned it away before it was locked
	}
}

func lock(fd int) error {
	return again(func() error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
}

func linked(fd int) bool {
	var stat unix.Stat_t
	err := again(func() error { return unix.Fstat(fd, &stat) })
	return err == nil && stat.Nlink > 0
}

// fill writes the content and has the disk keep it.
func (t *temporary) fill(content []byte) error {
	if _, err := t.file.Write(content); err != nil {
		return err
	}
	return t.file.Sync()
}

// resemble gives the file the owner, as far as the system allows, and the mode.
func (t *temporary) resemble(stat *unix.Stat_t, mode uint32) error {
	fd := int(t.file.Fd())
	if err := again(func() error { return unix.Fchown(fd, int(stat.Uid), int(stat.Gid)) }); err != nil && !errors.Is(err, unix.EPERM) {
		return err
	}
	return again(func() error { return unix.Fchmod(fd, mode) })
}

// drop removes the file, unless it has got its name already.
func (t *temporary) drop() {
	if t.name != "" {
		t.folder.remove(t.name) //nolint:errcheck // the next commit to the folder tries again
	}
	t.file.Close()
}

// clean removes what commits that died have left in a folder.
func (d directory) clean() error {
	if _, err := d.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for {
		names, err := d.file.Readdirnames(readBatch)
		for _, name := range names {
			if strings.HasPrefix(name, temporaryPrefix) {
				d.cleanOne(name)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// cleanOne removes an unfinished file whose writer is gone, and its lock with it.
func (d directory) cleanOne(name string) {
	fd, _, err := d.regular(name)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if lock(fd) == nil {
		d.remove(name) //nolint:errcheck // it may have got its name meanwhile
	}
}
