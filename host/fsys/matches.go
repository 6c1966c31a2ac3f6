package fsys

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/plinthhost/plinth/host/fsys/search"
)

// matches gathers what the workers of a grep find and keeps the first of it in the
// order of paths, whoever comes first.
type matches struct {
	limit int // of matching lines
	most  int // bytes of text and paths

	mu    sync.Mutex
	files []fileMatches
	count int                    // matches in files
	bytes int                    // text and paths in files
	last  atomic.Pointer[string] // no path beyond it can be in the result
}

type fileMatches struct {
	path string
	search.Found
}

// beyond reports whether a file cannot be in the result any more.
func (m *matches) beyond(path string) bool {
	last := m.last.Load()
	return last != nil && path > *last
}

func (m *matches) add(path string, found search.Found) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files = append(m.files, fileMatches{path, found})
	m.count += found.Matches
	m.bytes += len(path) + found.Bytes
	if m.count > 2*m.limit || m.bytes > 2*m.most {
		m.trim()
	}
}

// trim drops the files that come after enough others.
func (m *matches) trim() {
	slices.SortFunc(m.files, func(a, b fileMatches) int { return strings.Compare(a.path, b.path) })
	m.count, m.bytes = 0, 0
	for i, file := range m.files {
		m.count += file.Matches
		m.bytes += len(file.path) + file.Bytes
		if m.count > m.limit || m.bytes > m.most {
			m.last.Store(&file.path)
			clear(m.files[i+1:])
			m.files = m.files[:i+1]
			return
		}
	}
}

// result cuts what has been gathered to the limits.
func (m *matches) result() GrepResult {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trim()
	r := GrepResult{Files: []GrepFile{}}
	bytes := 0
	for _, file := range m.files {
		cut := GrepFile{Path: file.path, More: file.Found.More}
		bytes += len(file.path)
		for i, line := range file.Lines {
			full := line.Column > 0 && r.Matches == m.limit
			if bytes += len(line.Text); full || bytes > m.most {
				cut.Lines, cut.More, r.More = file.Lines[:i], true, true
				break
			}
			if cut.Lines = file.Lines[:i+1]; line.Column > 0 {
				r.Matches++
			}
		}
		if len(cut.Lines) > 0 {
			r.Files = append(r.Files, cut)
		}
		if r.More {
			break
		}
	}
	return r
}
