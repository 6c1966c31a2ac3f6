package watch

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// interest is why a directory is watched: what a hint from it means.
type interest struct {
	folder *folder
	entry  string // the name of the one that is meant; "" for a name in the folder itself
	only   string // the one name that matters; "" for all
}

// interests are those in directories, by the one path that a directory has without
// links: the system knows it under one name only.
type interests map[string][]interest

func (all interests) add(directory string, i interest) {
	if real, err := filepath.EvalSymlinks(directory); err == nil && !slices.Contains(all[real], i) {
		all[real] = append(all[real], i)
	}
}

// of collects what a folder is interested in. What is not there yet is waited for in
// the nearest directory above it that is.
func (all interests) of(f *folder) {
	all.links(f.path, interest{folder: f})
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return
	}
	all.add(f.path, interest{folder: f})
	for _, entry := range entries {
		if name := entry.Name(); !Ignored(name) {
			all.entry(f, name)
		}
	}
}

func (all interests) entry(f *folder, name string) {
	path := filepath.Join(f.path, name)
	i := interest{folder: f, entry: name}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		all.links(path, i)
	}
	inside, err := os.ReadDir(path)
	if err != nil {
		return // a file, or gone
	}
	all.add(path, i)
	for _, one := range inside[:min(len(inside), maxFiles)] {
		if deeper := filepath.Join(path, one.Name()); !Ignored(one.Name()) && isDirectory(deeper) {
			all.add(deeper, i)
		}
	}
}

// maxLinks is how many links are followed one after the other.
const maxLinks = 16

// links adds where the path itself may change: the places of the links that it leads
// over and of what they lead to, or the nearest place where that would begin.
func (all interests) links(path string, i interest) {
	for range maxLinks {
		directory, base := filepath.Split(path)
		directory = filepath.Clean(directory)
		info, err := os.Lstat(path)
		i.only = base
		if err != nil {
			for !isDirectory(directory) && directory != filepath.Dir(directory) {
				directory, i.only = filepath.Dir(directory), filepath.Base(directory)
			}
			all.add(directory, i)
			return
		}
		all.add(directory, i)
		if info.Mode()&os.ModeSymlink == 0 {
			return
		}
		target, err := os.Readlink(path)
		if err != nil {
			return
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(directory, target)
		}
		path = filepath.Clean(target)
	}
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// meant answers what a hint of a path is about.
func (all interests) meant(path string) []interest {
	var found []interest
	base := filepath.Base(path)
	for _, i := range all[filepath.Dir(path)] {
		switch {
		case i.only != "" && i.only != base, i.only == "" && Ignored(base):
			continue
		case i.entry == "" && i.only == "":
			i.entry = base
		}
		found = append(found, i)
	}
	for _, i := range all[path] { // of the directory itself, as when it was moved away
		found = append(found, interest{folder: i.folder, entry: i.entry})
	}
	return found
}

// directories are those to watch, ascending.
func (all interests) directories() []string { return slices.Sorted(maps.Keys(all)) }
