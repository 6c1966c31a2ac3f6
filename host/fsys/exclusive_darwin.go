package fsys

import "golang.org/x/sys/unix"

func renameExclusive(from int, name string, to int, newName string) error {
	return unix.RenameatxNp(from, name, to, newName, unix.RENAME_EXCL)
}
