package watch

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func changeTime(stat *syscall.Stat_t) time.Time { return time.Unix(stat.Ctimespec.Unix()) }

// remote reports whether a folder is on a file system that others write to without
// this system's knowledge.
func remote(path string) bool {
	var stat unix.Statfs_t
	return unix.Statfs(path, &stat) == nil && stat.Flags&unix.MNT_LOCAL == 0
}
