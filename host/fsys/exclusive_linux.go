package fsys

import "golang.org/x/sys/unix"

func renameExclusive(from int, name string, to int, newName string) error {
	return unix.Renameat2(from, name, to, newName, unix.RENAME_NOREPLACE)
}
