package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxLinks bounds the links that one path goes through.
const maxLinks = 40

// Resolve answers where the path leads now: absolute, links and ".." followed as
// the system does. What does not exist yet stays as it is named. Errors are links
// without end and folders that cannot be looked into.
func (p Path) Resolve() (string, error) {
	resolved, links := "/", 0
	pending := strings.Split(p.Path, "/")
	for len(pending) > 0 {
		name := pending[0]
		pending = pending[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			resolved = filepath.Dir(resolved)
			continue
		}
		next := filepath.Join(resolved, name)
		info, err := os.Lstat(next)
		if err != nil && !absent(err) {
			return "", fmt.Errorf("resolve the path %q: %w", p.Path, err)
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			resolved = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("resolve the path %q: it goes through more than %d links", p.Path, maxLinks)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", fmt.Errorf("resolve the path %q: %w", p.Path, err)
		}
		if filepath.IsAbs(target) {
			resolved = "/"
		}
		pending = append(strings.Split(target, "/"), pending...)
	}
	return resolved, nil
}

// Outside answers where the paths lead that are in none of the folders, each
// place once and resolved. The folders are absolute, links resolved. A mention
// counts only when the place exists.
func Outside(paths []Path, folders ...string) ([]string, error) {
	var outside []string
	for _, p := range paths {
		place, err := p.Resolve()
		if err != nil {
			return nil, err
		}
		inside := slices.ContainsFunc(folders, func(folder string) bool {
			rest, ok := strings.CutPrefix(place, strings.TrimSuffix(folder, "/"))
			return ok && (rest == "" || rest[0] == '/')
		})
		if inside || slices.Contains(outside, place) {
			continue
		}
		if p.Access == Mention {
			if _, err := os.Lstat(place); err != nil {
				continue
			}
		}
		outside = append(outside, place)
	}
	return outside, nil
}

// absent reports what the system says about a path that cannot be there: there is
// nothing, a file is on the way, or a name is too long.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}
