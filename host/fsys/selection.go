package fsys

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Access is what the rules say of a file.
type Access int

// The accesses.
const (
	Denied Access = iota
	Asks          // somebody would have to be asked
	Allowed
)

// A Filter answers what the rules say of the files with these identities, in their
// order. It asks nobody, and is called by several goroutines at once. A search
// calls it before it opens the files, those of a folder together, and ends with its
// error.
type Filter func(ctx context.Context, identities []string) ([]Access, error)

// ask calls the filter; nil allows all.
func (f Filter) ask(ctx context.Context, identities []string) ([]Access, error) {
	if len(identities) == 0 {
		return nil, nil
	}
	if f == nil {
		all := make([]Access, len(identities))
		for i := range all {
			all[i] = Allowed
		}
		return all, nil
	}
	accesses, err := f(ctx, identities)
	if err == nil && len(accesses) != len(identities) {
		err = fmt.Errorf("ask the rules: %d answers for %d files", len(accesses), len(identities))
	}
	if err != nil {
		return nil, err
	}
	return accesses, nil
}

// Selection is the files that a search covers: regular files below one folder.
// Never among them are Plinth's own folders, what lies more than 128 folders deep,
// and names that are not UTF-8. Links are not followed below the folder.
type Selection struct {
	Root string // the root's name
	Path string // the folder below the root; "" is the root itself
	// Hidden takes in names that begin with a dot.
	Hidden bool
	// Ignored takes in what .gitignore, .ignore and .git/info/exclude leave out.
	// With Hidden it takes in .git too.
	Ignored bool
	Filter  Filter // nil allows all
}

// Bounds end a search early. 0 and what is beyond the largest stand for the largest.
type Bounds struct {
	Limit int // files of a glob, at most MaxFiles; matching lines of a grep, at most MaxMatches
	Bytes int // of the text of lines and of paths, at most MaxText
	// Time is how long the search may take, at most as long as its context lasts.
	// What has been found by then is answered, and Counts.Partial says so.
	Time time.Duration
}

// MaxText is the most text that one search answers, in bytes.
const MaxText = 4 << 20

// errTime ends a search that has taken its time.
var errTime = errors.New("the search has taken its time")

// start begins the time. The caller calls stop.
func (b Bounds) start(ctx context.Context) (_ context.Context, stop context.CancelFunc) {
	if b.Time <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, b.Time, errTime)
}

// bounded is a limit between 1 and most.
func bounded(value, otherwise, most int) int {
	if value <= 0 {
		value = otherwise
	}
	return min(value, most)
}

// Counts says what a search has passed over. A file that asks or is denied is
// counted by its name alone, so a count tells nothing of its content.
type Counts struct {
	Asks       int  // files that reading would ask for
	Denied     int  // files that reading would refuse
	Unreadable int  // files and folders that the system did not let Plinth read
	Partial    bool // Bounds.Time was over before everything was looked at
}
