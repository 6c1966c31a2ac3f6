package fsys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

var (
	errBarred = errors.New("it is in a folder that belongs to Plinth itself")
	errMoved  = errors.New("it was replaced while it was being opened; try again")
)

// barred are the folders that are never reachable, by place and by identity: the
// place covers a root inside one of them, the identity every other name of it.
type barred struct {
	places []string
	infos  []fs.FileInfo
}

// resolveBarred samples the folders as they are now.
func resolveBarred(folders []string) barred {
	var b barred
	for _, folder := range folders {
		b.places = append(b.places, folder)
		if canonical, err := filepath.EvalSymlinks(folder); err == nil && canonical != folder {
			b.places = append(b.places, canonical)
		}
		if info, err := os.Stat(folder); err == nil {
			b.infos = append(b.infos, info)
		}
	}
	return b
}

// holds reports whether the file at the canonical absolute place lies in a
// barred folder or is one.
func (b barred) holds(place string, info fs.FileInfo) bool {
	for _, folder := range b.places {
		if rest, ok := strings.CutPrefix(place, folder); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	for _, other := range b.infos {
		if os.SameFile(info, other) {
			return true
		}
	}
	return false
}
