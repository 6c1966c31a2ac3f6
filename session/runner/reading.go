package runner

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/plinthhost/plinth/session"
)

// maxDirectories is how many directories a session remembers for which tools read
// files in them.
const maxDirectories = 256

// reading gathers the directories below a root in which one call reads files. Its
// operations may run side by side.
type reading struct {
	root string

	mu          sync.Mutex
	directories map[string]bool
}

// Read notes the directory of a file.
func (r *reading) Read(path string) {
	directory := filepath.Dir(path)
	if !isBelow(r.root, directory) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.directories == nil {
		r.directories = map[string]bool{}
	}
	r.directories[directory] = true
}

// remember takes over what the session knows at the turn's boundary.
func (t *turn) remember(directories []string) {
	t.directories = make(map[string]bool, len(directories))
	for _, directory := range directories {
		t.directories[directory] = true
	}
}

// directoriesRead answers the event of what a call read in that is new to the session,
// none when nothing is. What the session has no room for is left out.
func (t *turn) directoriesRead(read *reading) []session.Payload {
	read.mu.Lock()
	defer read.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	var added []string
	for _, directory := range slices.Sorted(maps.Keys(read.directories)) {
		switch {
		case t.directories[directory]:
		case len(t.directories) < maxDirectories:
			t.directories[directory] = true
			added = append(added, directory)
		case !t.crowded:
			t.crowded = true
			t.Logger.Warn("instructions beside more files are not looked for", "session", t.session, "directories", maxDirectories, "left out", directory)
		}
	}
	if len(added) == 0 {
		return nil
	}
	return []session.Payload{session.DirectoriesRead{Directories: added}}
}

// below answers the directories that are inside the root, which a move may have changed.
func below(root string, directories []string) []string {
	var inside []string
	for _, directory := range directories {
		if isBelow(root, directory) {
			inside = append(inside, directory)
		}
	}
	return inside
}

// isBelow: the root itself is not, its instructions are always told.
func isBelow(root, directory string) bool {
	return root != "" && strings.HasPrefix(directory, strings.TrimSuffix(root, "/")+"/") && directory != root
}
