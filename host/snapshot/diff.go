package snapshot

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/session"
)

// change is one path that differs between two trees. A mode is "000000" where there is
// nothing.
type change struct {
	session.FileDiff
	fromMode, toMode string
	to               string // the object in the second tree
}

const nothing = "000000"

// diff answers what differs, ascending by path.
func (r *repository) diff(ctx context.Context, from, to string) ([]change, error) {
	if err := r.known(from, to); err != nil {
		return nil, err
	}
	if from == to {
		return nil, nil
	}
	out, err := r.git(ctx, nil, "diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-abbrev", from, to)
	if err != nil {
		return nil, fmt.Errorf("compare snapshots: %w", err)
	}
	return parseDiff(string(out))
}

// parseDiff reads ":MODE MODE OBJECT OBJECT LETTER\0PATH\0" for each path, and then
// "ADDITIONS\tDELETIONS\tPATH\0" for each again.
func parseDiff(out string) ([]change, error) {
	byPath := map[string]*change{}
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i < len(fields) && fields[i] != ""; i++ {
		if raw, ok := strings.CutPrefix(fields[i], ":"); ok && i+1 < len(fields) {
			words := strings.Fields(raw)
			if len(words) != 5 {
				return nil, fmt.Errorf("compare snapshots: git wrote %q", fields[i])
			}
			i++
			byPath[fields[i]] = &change{FileDiff: session.FileDiff{Path: fields[i]}, fromMode: words[0], toMode: words[1], to: words[3]}
			continue
		}
		counts := strings.SplitN(fields[i], "\t", 3)
		if len(counts) != 3 || byPath[counts[2]] == nil {
			return nil, fmt.Errorf("compare snapshots: git wrote %q", fields[i])
		}
		found := byPath[counts[2]]
		found.Additions, _ = strconv.Atoi(counts[0]) // "-" of a file that is not text
		found.Deletions, _ = strconv.Atoi(counts[1])
	}
	changes := make([]change, 0, len(byPath))
	for _, one := range byPath {
		changes = append(changes, *one)
	}
	slices.SortFunc(changes, func(a, b change) int { return strings.Compare(a.Path, b.Path) })
	return changes, nil
}

func (r *repository) patches(ctx context.Context, from, to string, paths []string, limit int) ([]string, error) {
	if err := r.known(from, to); err != nil {
		return nil, err
	}
	patches := make([]string, len(paths))
	for i, name := range paths {
		if limit <= 0 {
			break
		}
		out, err := r.git(ctx, nil, "diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
			"--src-prefix=a/", "--dst-prefix=b/", from, to, "--", name)
		if err != nil {
			return nil, fmt.Errorf("write a patch: %w", err)
		}
		if len(out) > limit {
			continue
		}
		patches[i] = string(out)
		limit -= len(out)
	}
	return patches, nil
}
