package fsys

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// readBatch is how many entries of a directory are taken from the system at a time.
const readBatch = 1024

var (
	errMoved = errors.New("it was moved or replaced meanwhile; look again")
	// errProcess keeps everybody out of /proc: what it shows of this process is its
	// memory and its environment, with the secrets in them.
	errProcess = errors.New("it is in the file system of the running processes, which is never reachable")
)

// directory is an open directory. What is asked of it is a single name, and no
// link is followed, so that nothing outside it can be reached. Its errors are
// those of the system, errMoved and errProcess.
type directory struct {
	file *os.File
	id   fileID
}

// fileID tells one file from another, whatever they are called.
type fileID struct{ device, number uint64 }

func idOf(stat *unix.Stat_t) fileID { return fileID{uint64(stat.Dev), stat.Ino} }

// kindOf is what a file is: one of unix.S_IFREG, S_IFDIR, S_IFLNK and so on.
func kindOf(stat *unix.Stat_t) uint32 { return uint32(stat.Mode) & unix.S_IFMT }

// openFolder opens a root's folder by its absolute path.
func openFolder(path string) (directory, error) {
	return newDirectory(path, fileID{}, func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
}

// directory opens a directory below d, or d itself anew as ".".
func (d directory) directory(name string) (directory, error) {
	return newDirectory(name, d.id, func() (int, error) { return d.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0) })
}

func newDirectory(name string, above fileID, open func() (int, error)) (directory, error) {
	fd, stat, err := opened(unix.S_IFDIR, above, open)
	if errors.Is(err, unix.ENOTDIR) {
		err = errMoved
	}
	if err != nil {
		return directory{}, err
	}
	return directory{os.NewFile(uintptr(fd), name), idOf(stat)}, nil
}

// regular opens a regular file for reading, and nothing else: a pipe or a device
// put in its place neither blocks nor is read.
func (d directory) regular(name string) (int, *unix.Stat_t, error) {
	return opened(unix.S_IFREG, d.id, func() (int, error) { return d.open(name, unix.O_RDONLY|unix.O_NONBLOCK, 0) })
}

// opened opens a file of one kind. Where it lies on another device than what is
// above it, that is looked at too.
func opened(kind uint32, above fileID, open func() (int, error)) (fd int, stat *unix.Stat_t, err error) {
	err = again(func() error { fd, err = open(); return err })
	if err != nil {
		return -1, nil, err
	}
	stat = new(unix.Stat_t)
	err = again(func() error { return unix.Fstat(fd, stat) })
	switch {
	case err != nil:
	case kindOf(stat) != kind:
		err = errMoved
	case uint64(stat.Dev) != above.device && ofProcesses(fd):
		err = errProcess
	}
	if err != nil {
		unix.Close(fd)
		return -1, nil, err
	}
	return fd, stat, nil
}

func (d directory) fd() int { return int(d.file.Fd()) }

func (d directory) close() { d.file.Close() }

func (d directory) open(name string, flags int, mode uint32) (fd int, err error) {
	err = again(func() error {
		fd, err = unix.Openat(d.fd(), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		return err
	})
	return fd, err
}

// stat describes what stands under a name, a link itself.
func (d directory) stat(name string) (*unix.Stat_t, error) {
	stat := new(unix.Stat_t)
	err := again(func() error { return unix.Fstatat(d.fd(), name, stat, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return nil, err
	}
	return stat, nil
}

func (d directory) has(name string) bool {
	_, err := d.stat(name)
	return err == nil
}

// link answers what a link says.
func (d directory) link(name string) (target string, err error) {
	buffer := make([]byte, maxPath+1)
	n := 0
	err = again(func() error { n, err = unix.Readlinkat(d.fd(), name, buffer); return err })
	if errors.Is(err, unix.EINVAL) {
		err = errMoved
	}
	if err != nil {
		return "", err
	}
	return string(buffer[:n]), nil
}

// entries calls each for every batch of entries, at least once.
func (d directory) entries(each func(batch []fs.DirEntry, last bool) error) error {
	if _, err := d.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for {
		batch, err := d.file.ReadDir(readBatch)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		last := len(batch) < readBatch
		if err := each(batch, last); err != nil || last {
			return err
		}
	}
}

// again repeats a system call that a signal interrupted.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
