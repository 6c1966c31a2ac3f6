package fsys

import (
	"io/fs"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"
)

// storedName answers how the file that was found as name is written in its
// directory. Where a file system takes several spellings for one file, a
// permission rule must see one only.
func storedName(dir directory, name string, found fileID) (string, error) {
	if !severalSpellings(dir, name, found) {
		return name, nil
	}
	stored := ""
	err := dir.entries(func(batch []fs.DirEntry, _ bool) error {
		for _, entry := range batch {
			switch {
			case stored == name:
				return nil
			case entry.Name() == name:
				stored = name
				return nil
			case stored != "" && !strings.EqualFold(entry.Name(), name):
				continue
			}
			if stat, err := dir.stat(entry.Name()); err == nil && idOf(stat) == found {
				stored = entry.Name()
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if stored == "" {
		return "", errMoved
	}
	return stored, nil
}

// severalSpellings reports whether name may be written otherwise for the same
// file: the file answers in the other case, or the system folds Unicode forms.
func severalSpellings(dir directory, name string, found fileID) bool {
	if runtime.GOOS == "darwin" && !isASCII(name) {
		return true
	}
	other := strings.Map(swapCase, name)
	if other == name {
		return false
	}
	stat, err := dir.stat(other)
	return err == nil && idOf(stat) == found
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
