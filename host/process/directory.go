package process

import (
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// directory answers what the child changes to and how its path is written, "" when
// that is not known.
func (c Command) directory() (enter, written string, err error) {
	if c.Handle == nil {
		written = filepath.Clean(c.Directory)
		return written, written, checkDirectory("Directory", written, written)
	}
	info, err := c.Handle.Stat()
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if stat, ok := infoStat(info); err == nil && ok && stat.Nlink == 0 {
		err = os.ErrNotExist
	}
	if err == nil {
		enter, written, err = handlePath(c.Handle, info)
	}
	if err != nil {
		return "", "", directoryError("Handle", c.Handle.Name(), err)
	}
	if !filepath.IsAbs(written) {
		written = ""
	}
	return enter, written, checkDirectory("Handle", enter, c.Handle.Name())
}

func infoStat(info os.FileInfo) (*syscall.Stat_t, bool) {
	if info == nil {
		return nil, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return stat, ok
}

// checkDirectory finds what would keep the child from entering, since the system
// does not tell that apart from a program that cannot be run.
func checkDirectory(field, path, name string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case !info.IsDir():
		err = syscall.ENOTDIR
	default:
		err = unix.Access(path, unix.X_OK)
	}
	if err != nil {
		return directoryError(field, name, err)
	}
	return nil
}
