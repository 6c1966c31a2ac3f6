package fsys

import (
	"context"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/plinthhost/plinth/host/fsys/search"
)

// Limits of one grep.
const (
	MaxMatches   = 10_000
	MaxContext   = 20
	MaxWidth     = 10_000
	DefaultWidth = 500
)

// GrepQuery asks for lines. Its Path may also name one file, which is then
// searched whatever its name and the ignore files say.
type GrepQuery struct {
	Selection
	Pattern string // in the syntax of RE2
	search.Options
	// Include are globs of paths below the selected folder, or of names when they
	// have no slash; with "!" in front they leave files out. None takes in all.
	Include []string
	Context int // lines before and after each match, at most MaxContext
	PerFile int // matching lines of a file; 0 means Limit
	Width   int // bytes of a line's text; 0 means DefaultWidth, the most is MaxWidth
	Bounds
}

// GrepFile is a file with lines that match.
type GrepFile struct {
	Path  string // its identity
	Lines []search.Line
	More  bool // lines of it were left out
}

// GrepResult is what a grep answers. The lines are the first in the order of paths
// and lines, so the same tree gives the same answer.
type GrepResult struct {
	Files    []GrepFile // by path, in byte order
	Matches  int        // lines in Files that are no context
	More     bool       // a limit in all has left something out
	Searched int        // files that were read
	Binary   int        // of these the ones that hold no text
	Counts
}

// Grep finds lines by their text. Files that hold a NUL near their beginning are
// not searched, links are not followed. Errors are of type *Error, those of the
// filter or the cause that ctx was cancelled for.
func (r *Roots) Grep(ctx context.Context, query GrepQuery) (GrepResult, error) {
	pattern, err := search.Compile(query.Pattern, query.Options)
	if err != nil {
		return GrepResult{}, &Error{Kind: KindInvalid, Path: query.Pattern, Text: err.Error()}
	}
	include, err := newInclusion(query.Include)
	if err != nil {
		return GrepResult{}, err
	}
	for _, glob := range include.with {
		query.Hidden = query.Hidden || namesHidden(glob)
	}
	ctx, stop := query.start(ctx)
	defer stop()
	t, first, err := r.start(ctx, query.Selection)
	if err != nil {
		return GrepResult{}, err
	}
	g := &grepping{tree: t, include: include, below: len(first.at.path), searchers: make([]*search.Searcher, workerCount())}
	g.matches.limit, g.matches.most = bounded(query.Limit, MaxMatches, MaxMatches), bounded(query.Bytes, MaxText, MaxText)
	limits := query.limits(g.matches.limit, g.matches.most)
	for i := range g.searchers {
		g.searchers[i] = pattern.NewSearcher(limits)
	}
	t.choose, t.visit = g.choose, g.visit
	counts, err := t.search(first)
	if err != nil {
		return GrepResult{}, err
	}
	result := g.matches.result()
	result.Searched, result.Binary, result.Counts = int(g.searched.Load()), int(g.binary.Load()), counts
	return result, nil
}

// limits are those of one file.
func (q GrepQuery) limits(all, bytes int) search.Limits {
	return search.Limits{
		Matches: bounded(q.PerFile, all+1, all+1), // one more shows that the limit was reached
		Context: min(max(q.Context, 0), MaxContext),
		Width:   bounded(q.Width, DefaultWidth, MaxWidth),
		Bytes:   bytes,
	}
}

// grepping is a grep under way.
type grepping struct {
	*tree
	include   inclusion
	below     int // length of the path that globs do not see
	searchers []*search.Searcher
	matches   matches
	searched  atomic.Int64
	binary    atomic.Int64
}

func (g *grepping) choose(file entry) bool {
	return g.named || !file.link && g.include.takes(file.path[g.below:])
}

func (g *grepping) visit(worker int, at *branch, file entry) error {
	if g.matches.beyond(file.path) {
		return nil
	}
	fd, stat, err := at.regular(file.name)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	text := content{fd: fd, rest: -1}
	if stat.Size > 0 {
		text.rest = stat.Size
	}
	found, err := g.searchers[worker].Search(g.ctx, &text)
	if err != nil {
		if g.ctx.Err() != nil {
			return nil // the walk ends for it
		}
		return err
	}
	g.searched.Add(1)
	if found.Binary {
		g.binary.Add(1)
	}
	if found.Matches > 0 {
		g.matches.add(file.path, found)
	}
	return nil
}
