package fsys

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	// maxGlob is the longest glob, in bytes.
	maxGlob = 1024
	// maxAlternatives bounds what the braces of one glob stand for together; each
	// is compared by itself.
	maxAlternatives = 256
)

// checkGlob refuses what is no glob or would take long to compare.
func checkGlob(glob string) error {
	text := ""
	switch {
	case len(glob) > maxGlob:
		text = fmt.Sprintf("the glob has %d bytes, more than %d", len(glob), maxGlob)
	case glob == "":
		text = "the glob is empty; ** finds every file"
	case !utf8.ValidString(glob), strings.ContainsRune(glob, 0):
		text = "the glob is not valid UTF-8 or has a NUL character in it"
	case strings.HasSuffix(glob, "/"):
		text = "the glob ends in a slash; globs find files: add ** for all below"
	case !doublestar.ValidatePattern(glob):
		text = "the glob has an open bracket or brace, or ends in a backslash"
	case alternatives(glob) > maxAlternatives:
		text = fmt.Sprintf("the braces of the glob stand for more than %d alternatives; use several globs", maxAlternatives)
	default:
		return nil
	}
	return &Error{Kind: KindInvalid, Path: glob, Text: text}
}

// alternatives is at least as many as the globs without braces that glob stands
// for, and at most one more than is allowed.
func alternatives(glob string) int {
	all := 1
	for part := range strings.SplitSeq(glob, "{") {
		all = min(all*(1+strings.Count(part, ",")), maxAlternatives+1)
	}
	return all
}

// namesHidden reports whether a glob writes out a name that begins with a dot, and
// so means hidden files.
func namesHidden(glob string) bool {
	return strings.HasPrefix(glob, ".") ||
		strings.Contains(glob, "/.") || strings.Contains(glob, "{.") || strings.Contains(glob, ",.")
}

// globDepth is how many folders deep the files can lie that a glob finds.
func globDepth(glob string) int {
	if strings.Contains(glob, "**") {
		return maxDepth
	}
	return strings.Count(glob, "/")
}

// inclusion is a choice of files by globs. One without a slash is about names;
// one that begins with "!" leaves files out.
type inclusion struct{ with, without []string }

func newInclusion(globs []string) (inclusion, error) {
	var i inclusion
	for _, glob := range globs {
		glob, negated := strings.CutPrefix(glob, "!")
		if err := checkGlob(glob); err != nil {
			return inclusion{}, err
		}
		if negated {
			i.without = append(i.without, glob)
		} else {
			i.with = append(i.with, glob)
		}
	}
	return i, nil
}

// takes reports whether the file at a path below the searched folder is chosen.
func (i inclusion) takes(below string) bool {
	return (len(i.with) == 0 || matchAny(i.with, below)) && !matchAny(i.without, below)
}

func matchAny(globs []string, below string) bool {
	for _, glob := range globs {
		text := below
		if !strings.Contains(glob, "/") {
			text = path.Base(below)
		}
		if doublestar.MatchUnvalidated(glob, text) {
			return true
		}
	}
	return false
}
