package main

import (
	"path"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// Limits of a tree.
const (
	defaultDepth = 3
	maxDepth     = 10
	maxListed    = 500 // entries
)

// listInput is the input of list.
type listInput struct {
	Path  string `json:"path"`
	Depth *int64 `json:"depth"`
}

// listResult is the structured output of list.
type listResult struct {
	Path      string `json:"path"`
	Depth     int    `json:"depth"` // levels that are shown
	Count     int    `json:"count"` // entries that are shown
	Truncated bool   `json:"truncated"`
}

func list(_ tool.Call, in listInput) (tool.Output, error) {
	depth, err := within("depth", in.Depth, defaultDepth, 1, maxDepth)
	if err == nil {
		err = checkPath(in.Path)
	}
	if err != nil {
		return tool.Output{}, err
	}
	info, err := host.Stat(abi.Path{Path: orHere(in.Path)})
	switch {
	case err != nil:
		return tool.Output{}, explain(in.Path, err)
	case info.Kind != abi.FileDirectory:
		return tool.Output{}, plinth.Errorf(abi.KindInvalidInput, "%s is a file; read shows it", in.Path)
	}
	t := tree{path: info.Path, folders: map[string]*branch{info.Path: {}}, room: room(info.Path)}
	if err := t.grow(depth); err != nil {
		return tool.Output{}, err
	}
	out := listResult{Path: info.Path, Depth: t.levels, Count: t.count, Truncated: t.left != "" || t.passed.Partial}
	text := t.text()
	if t.count == 0 {
		text = "(the directory is empty, or git ignores what is in it)"
	}
	return tool.Output{Text: text + t.left + passedOver(t.passed), Title: info.Path, Structured: out}, nil
}

// tree is a directory with what is below it, level by level: what is cut off is what
// lies deepest.
type tree struct {
	path    string
	folders map[string]*branch // by their paths
	room    int                // bytes that are left
	levels  int
	count   int
	left    string // a note on what is not shown
	passed  abi.FSPassed
}

// branch is a folder of the tree. Names come in byte order.
type branch struct {
	folders []string
	files   []string
}

// grow adds levels until there are no more folders or one has no room.
func (t *tree) grow(depth int) error {
	for level := 1; ; level++ {
		found, err := host.Glob(abi.FSGlob{
			Path: abi.Path{Path: t.path}, Pattern: strings.Repeat("*/", level-1) + "*", Hidden: true, Folders: true, Limit: max(maxListed-t.count, 1),
		})
		if err != nil {
			return explain(t.path, err)
		}
		t.pass(found.FSPassed)
		fits := t.fits(found, level)
		switch {
		case level == 1 && !fits:
			t.add(t.first(found.Files))
			t.levels = 1
			t.left = note("showing %d of %d entries; read with offset shows the rest", t.count, found.Matched)
			return nil
		case !fits:
			t.left = note("showing %s; the next has %s: list a folder to see what is in it", counted(t.levels, "level", "levels"), counted(found.Matched, "entry", "entries"))
			return nil
		}
		folders := t.add(found.Files)
		t.levels = level
		if folders == 0 || found.Partial {
			return nil
		}
		if level == depth {
			t.left = note("showing %s; list a folder, or raise depth, to see what is below", counted(level, "level", "levels"))
			return nil
		}
	}
}

// pass counts what the walk of a level has left out. Files are those of the level alone;
// what could not be opened is met again by every walk.
func (t *tree) pass(passed abi.FSPassed) {
	passed.Denied += t.passed.Denied
	passed.Asks += t.passed.Asks
	t.passed = passed
}

// fits reports whether a whole level has room.
func (t *tree) fits(found abi.FSFound, level int) bool {
	if t.count+found.Matched > maxListed || len(found.Files) < found.Matched {
		return false
	}
	size := 0
	for _, file := range found.Files {
		size += lineSize(file, level)
	}
	return size <= t.room
}

// first is as many entries of the first level as have room.
func (t *tree) first(files []abi.FileInfo) []abi.FileInfo {
	size := 0
	for i, file := range files {
		if size += lineSize(file, 1); size > t.room {
			return files[:i]
		}
	}
	return files
}

// lineSize is at least what an entry takes in the text.
func lineSize(file abi.FileInfo, level int) int { return len(onLine(path.Base(file.Path))) + 2*level }

// add puts entries into their folders and answers how many are folders. What is in a
// folder that is not shown is not shown.
func (t *tree) add(files []abi.FileInfo) (folders int) {
	for _, file := range files {
		parent := t.folders[path.Dir(file.Path)]
		if parent == nil {
			continue
		}
		name := path.Base(file.Path)
		if file.Kind == abi.FileDirectory {
			parent.folders = append(parent.folders, name)
			t.folders[file.Path] = &branch{}
			folders++
		} else {
			parent.files = append(parent.files, name)
		}
		t.room -= lineSize(file, t.levels+1)
		t.count++
	}
	return folders
}

// text is the tree: directories first and with a slash behind, two spaces a level.
func (t *tree) text() string {
	var b strings.Builder
	t.write(&b, t.path, "")
	return strings.TrimSuffix(b.String(), "\n")
}

func (t *tree) write(b *strings.Builder, folder, indent string) {
	at := t.folders[folder]
	for _, name := range at.folders {
		b.WriteString(indent + onLine(name) + "/\n")
		t.write(b, path.Join(folder, name), indent+"  ")
	}
	for _, name := range at.files {
		b.WriteString(indent + onLine(name) + "\n")
	}
}
