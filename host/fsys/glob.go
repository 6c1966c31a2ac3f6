package fsys

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/sys/unix"
)

// MaxFiles is the most files that one glob answers.
const MaxFiles = 10_000

// Order is how the files of a glob are sorted.
type Order int

// The orders. Files of the same time are sorted by path.
const (
	ByPath   Order = iota // in byte order
	ByNewest              // by modification, the latest first
)

// GlobQuery asks for files, and perhaps folders, by name.
type GlobQuery struct {
	Selection
	// Pattern is compared with paths below the selected folder: ** stands for
	// folders, * and ? stay within a name, {a,b} and [a-z] are choices. A pattern
	// that writes out a name beginning with a dot finds hidden files.
	Pattern string
	// Folders takes in folders, by their paths without a slash at the end.
	Folders bool
	Order   Order
	Bounds
}

// GlobFile is a file or folder that a glob has found.
type GlobFile struct {
	Info
	// Link is the path that was found when it is a link; Info is of the file in the
	// root that it leads to.
	Link string
}

// found is the path that the pattern matched.
func (f GlobFile) found() string { return cmp.Or(f.Link, f.Path) }

// GlobResult is what a glob answers.
type GlobResult struct {
	Files   []GlobFile
	Matched int // files that match and may be read; more than len(Files) when cut
	Counts
}

// Glob finds files by name. Links to files are found under their own names and
// answer what they lead to; links to folders are not followed. Errors are of type
// *Error, those of the filter or the cause that ctx was cancelled for.
func (r *Roots) Glob(ctx context.Context, query GlobQuery) (GlobResult, error) {
	if err := checkGlob(query.Pattern); err != nil {
		return GlobResult{}, err
	}
	base, pattern := doublestar.SplitPattern(query.Pattern)
	selection := query.Selection
	selection.Hidden = selection.Hidden || namesHidden(pattern)
	switch {
	case filepath.IsAbs(base):
		selection.Path = base
	case base != ".":
		selection.Path = strings.TrimPrefix(query.Path+"/"+base, "/")
	}
	ctx, stop := query.start(ctx)
	defer stop()
	t, first, err := r.start(ctx, selection)
	if err != nil {
		return GlobResult{}, r.emptyGlob(query, base, err)
	}
	if t.named {
		first.at.release()
		if base != "." {
			return GlobResult{}, nil
		}
		return GlobResult{}, &Error{Kind: KindInvalid, Path: query.Path, Text: "it is a file; a glob needs a folder to search below"}
	}
	g := &globbing{tree: t, roots: r, pattern: pattern, below: len(first.at.path), order: query.Order, limit: bounded(query.Limit, MaxFiles, MaxFiles)}
	t.depth, t.folders = min(t.depth, globDepth(pattern)), query.Folders
	t.choose, t.visit = g.choose, g.visit
	counts, err := t.search(first)
	if err != nil {
		return GlobResult{}, err
	}
	return GlobResult{Files: g.best(bounded(query.Bytes, MaxText, MaxText)), Matched: g.matched, Counts: counts}, nil
}

// emptyGlob forgives that the part of a pattern before its first wildcard is not
// there, but not that the selected folder is not.
func (r *Roots) emptyGlob(query GlobQuery, base string, err error) error {
	failed, ok := errors.AsType[*Error](err)
	if !ok || failed.Kind != KindNotFound || base == "." {
		return err
	}
	if filepath.IsAbs(base) {
		return nil
	}
	folder, err := r.Open(query.Root, query.Path)
	if err != nil {
		return err
	}
	return folder.Close()
}

// globbing is a glob under way.
type globbing struct {
	*tree
	roots   *Roots
	pattern string
	below   int // length of the path that patterns do not see
	order   Order
	limit   int

	mu      sync.Mutex
	files   []GlobFile
	matched int
}

func (g *globbing) choose(file entry) bool {
	return doublestar.MatchUnvalidated(g.pattern, file.path[g.below:])
}

func (g *globbing) visit(_ int, at *branch, file entry) error {
	if file.link {
		return g.link(file)
	}
	stat, err := at.stat(file.name)
	if err != nil {
		return err
	}
	wanted := uint32(unix.S_IFREG)
	if file.folder {
		wanted = unix.S_IFDIR
	}
	if kindOf(stat) == wanted && !g.private(file, stat) {
		g.add(GlobFile{Info: infoOf(file.path, file.name, stat)})
	}
	return nil
}

// private reports whether a folder is one of Plinth's own, or in one. The walk enters
// none, so files are in none.
func (g *globbing) private(file entry, stat *unix.Stat_t) bool {
	return file.folder && g.barred.holds(filepath.Join(g.canonical, file.path), idOf(stat))
}

// link answers the file in the root that a link leads to; other links are left out.
func (g *globbing) link(file entry) error {
	target, err := g.roots.Open(g.selection.Root, file.path)
	if err != nil {
		if failed, ok := errors.AsType[*Error](err); ok && failed.Kind != KindLimit {
			return nil
		}
		return err
	}
	defer target.Close()
	if !target.info.Directory && g.allowed([]string{target.info.Path})[0] {
		g.add(GlobFile{Info: target.info, Link: file.path})
	}
	return nil
}

func (g *globbing) add(file GlobFile) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.matched++
	if g.files = append(g.files, file); len(g.files) >= 2*g.limit+fileBatch {
		g.trim()
	}
}

// trim keeps the first files in the order.
func (g *globbing) trim() {
	slices.SortFunc(g.files, func(a, b GlobFile) int {
		if g.order == ByNewest {
			if c := b.Modified.Compare(a.Modified); c != 0 {
				return c
			}
		}
		return strings.Compare(a.found(), b.found())
	})
	g.files = g.files[:min(len(g.files), g.limit)]
}

// best answers the first files in the order, with so many bytes of paths.
func (g *globbing) best(bytes int) []GlobFile {
	g.trim()
	for i, file := range g.files {
		if bytes -= len(file.Path) + len(file.Link); bytes < 0 {
			g.files = g.files[:i]
			break
		}
	}
	return slices.Clone(g.files)
}
