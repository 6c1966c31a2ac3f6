package fsys

import (
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const barredText = "it is in a folder that belongs to Plinth itself"

// barred are the folders that are never reachable, by place and by identity: the
// place covers a root inside one of them, the identity every other name of it.
type barred struct {
	places []string
	ids    []fileID
}

// resolveBarred looks at the folders as they are now: one that is made later must
// be barred too.
func resolveBarred(folders []string) barred {
	var b barred
	for _, folder := range folders {
		b.places = append(b.places, folder)
		if canonical, err := filepath.EvalSymlinks(folder); err == nil && canonical != folder {
			b.places = append(b.places, canonical)
		}
		var stat unix.Stat_t
		if again(func() error { return unix.Stat(folder, &stat) }) == nil {
			b.ids = append(b.ids, idOf(&stat))
		}
	}
	return b
}

// holds reports whether the file at the canonical absolute place lies in a
// barred folder or is one.
func (b barred) holds(place string, id fileID) bool {
	return b.covers(place) || slices.Contains(b.ids, id)
}

// covers reports whether a place is in a barred folder, whatever is there.
func (b barred) covers(place string) bool {
	for _, folder := range b.places {
		if rest, ok := strings.CutPrefix(place, folder); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}
