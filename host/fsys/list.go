package fsys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

const (
	// MaxPage is the largest page of a listing.
	MaxPage = 2000
	// maxEntries bounds the directories that can be listed at all.
	maxEntries = 100_000
)

// listed is a direct child before its page is known.
type listed struct {
	name      string
	directory bool
	target    *Info // what a link leads to
}

// List answers direct children, directories first, then by name in byte order.
// Offset counts from 0; limit is at most MaxPage, 0 means that. next is the
// offset to go on from, 0 when the listing is through. Left out are links that
// lead nowhere or outside the root, Plinth's own folders, special files, and
// names that are not UTF-8. A directory of more than 100,000 entries is an error
// of KindLimit.
func (f *File) List(ctx context.Context, offset, limit int) (page []Info, next int, err error) {
	if !f.info.Directory {
		return nil, 0, &Error{Kind: KindInvalid, Path: f.path, Text: "it is a file; read it instead"}
	}
	if offset < 0 || limit < 0 {
		return nil, 0, &Error{Kind: KindInvalid, Path: f.path, Text: "offset and limit must not be negative"}
	}
	if limit == 0 || limit > MaxPage {
		limit = MaxPage
	}
	entries, err := f.children(ctx)
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(entries, func(a, b listed) int {
		if a.directory != b.directory {
			if a.directory {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	position := min(offset, len(entries))
	end := min(position+limit, len(entries))
	page = make([]Info, 0, end-position)
	for _, child := range entries[position:end] {
		// A child deleted meanwhile is left out; the offsets stay.
		if info, ok := f.describe(child); ok {
			page = append(page, info)
		}
	}
	if end < len(entries) {
		next = end
	}
	return page, next, nil
}

// children reads the whole directory, without what may not be seen.
func (f *File) children(ctx context.Context) (all []listed, err error) {
	seen := 0
	err = f.directory().entries(func(batch []fs.DirEntry, _ bool) error {
		if ctx.Err() != nil {
			return fmt.Errorf("list %s: %w", quote(f.path), context.Cause(ctx))
		}
		if seen += len(batch); seen > maxEntries {
			return &Error{Kind: KindLimit, Path: f.path, Text: fmt.Sprintf("the directory has more than %d entries", maxEntries)}
		}
		for _, entry := range batch {
			if child, ok := f.child(entry); ok {
				all = append(all, child)
			}
		}
		return nil
	})
	if _, system := errors.AsType[syscall.Errno](err); system {
		err = systemError(f.path, err)
	}
	return all, err
}

func (f *File) directory() directory { return directory{f.handle, f.id} }

// child reports whether entry may be seen, and what it is.
func (f *File) child(entry fs.DirEntry) (listed, bool) {
	name := entry.Name()
	if !utf8.ValidString(name) || strings.HasPrefix(name, temporaryPrefix) {
		return listed{}, false
	}
	switch entry.Type() {
	case 0:
		return listed{name: name}, true
	case fs.ModeDir:
		stat, err := f.directory().stat(name)
		if err != nil || f.barred.holds(filepath.Join(f.folder, f.info.Path, name), idOf(stat)) {
			return listed{}, false
		}
		return listed{name: name, directory: true}, true
	case fs.ModeSymlink:
		target, err := f.roots.Open(f.root, path.Join(f.info.Path, name))
		if err != nil {
			return listed{}, false
		}
		defer target.Close()
		info := target.Info()
		info.Name = name
		return listed{name: name, directory: info.Directory, target: &info}, true
	}
	return listed{}, false
}

// describe answers the information of a child on the page.
func (f *File) describe(child listed) (Info, bool) {
	if child.target != nil {
		return *child.target, true
	}
	stat, err := f.directory().stat(child.name)
	if err != nil {
		return Info{}, false
	}
	info := infoOf(path.Join(f.info.Path, child.name), child.name, stat)
	return info, info.Directory == child.directory && (info.Directory || kindOf(stat) == unix.S_IFREG)
}
