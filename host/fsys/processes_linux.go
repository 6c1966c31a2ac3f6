package fsys

import "golang.org/x/sys/unix"

// ofProcesses reports whether an open file is in /proc, wherever that is mounted.
func ofProcesses(fd int) bool {
	var stat unix.Statfs_t
	err := again(func() error { return unix.Fstatfs(fd, &stat) })
	return err != nil || stat.Type == unix.PROC_SUPER_MAGIC
}
