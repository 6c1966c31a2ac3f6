package sqlite

import (
	"strings"

	"golang.org/x/sys/unix"
)

// networkKind answers the name of the network file system that path is on, empty
// for a local one.
func networkKind(path string) (string, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return "", err
	}
	name := unix.ByteSliceToString(stat.Fstypename[:])
	return networkName(name, stat.Flags&unix.MNT_LOCAL != 0), nil
}

// networkName answers name when it is that of a network file system. macOS marks
// the local ones; programs under macFUSE mark themselves as they like.
func networkName(name string, local bool) string {
	if local && !strings.Contains(name, "sshfs") {
		return ""
	}
	return name
}
