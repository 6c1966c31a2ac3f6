package fsys

import (
	"io/fs"
	"os"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"
)

// storedName answers how the file that was found as name is written in its
// directory. Where a file system takes several spellings for one file, a
// permission rule must see one only.
func storedName(dir *os.Root, name string, found fs.FileInfo) (string, error) {
	if !severalSpellings(dir, name, found) {
		return name, nil
	}
	handle, err := dir.Open(".")
	if err != nil {
		return "", err
	}
	defer handle.Close()
	entries, err := handle.ReadDir(-1)
	if err != nil {
		return "", err
	}
	stored := ""
	for _, entry := range entries {
		if entry.Name() == name {
			return name, nil
		}
		if stored != "" && !strings.EqualFold(entry.Name(), name) {
			continue
		}
		if info, err := entry.Info(); err == nil && os.SameFile(info, found) {
			stored = entry.Name()
		}
	}
	if stored == "" {
		return "", errMoved
	}
	return stored, nil
}

// severalSpellings reports whether name may be written otherwise for the same
// file: the file answers in the other case, or the system folds Unicode forms.
func severalSpellings(dir *os.Root, name string, found fs.FileInfo) bool {
	if runtime.GOOS == "darwin" && !isASCII(name) {
		return true
	}
	other := strings.Map(swapCase, name)
	if other == name {
		return false
	}
	info, err := dir.Lstat(other)
	return err == nil && os.SameFile(info, found)
}

func swapCase(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
