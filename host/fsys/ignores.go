package fsys

import "github.com/plinthhost/plinth/host/fsys/ignore"

// Names that say what a search leaves out.
const (
	gitFolder  = ".git"
	gitIgnore  = ".gitignore"
	treeIgnore = ".ignore"
)

// ignores are the ignore files that hold in a folder: its own and, above them,
// those of the folders it lies in.
type ignores struct {
	above   *ignores
	prefix  int // length of the folder's path, with its slash
	tree    ignore.Rules
	git     ignore.Rules
	exclude ignore.Rules // of the repository that begins here
	// repository says that a work tree of git begins here; the rules of a work tree
	// around it do not reach in.
	repository bool
}

// loadIgnores reads the ignore files of a folder. has answers whether the folder
// has an entry of that name.
func loadIgnores(above *ignores, d directory, prefix int, has func(name string) bool) *ignores {
	if !has(gitIgnore) && !has(treeIgnore) && !has(gitFolder) {
		return above
	}
	i := &ignores{above: above, prefix: prefix, repository: has(gitFolder)}
	for name, rules := range map[string]*ignore.Rules{gitIgnore: &i.git, treeIgnore: &i.tree} {
		if data, ok := d.read(name, ignore.MaxSize); ok {
			*rules = ignore.Parse(data)
		}
	}
	if i.repository {
		i.exclude = loadExclude(d)
	}
	return i
}

func loadExclude(d directory) ignore.Rules {
	git, err := d.directory(gitFolder)
	if err != nil {
		return ignore.Rules{} // of a further work tree it is a file
	}
	defer git.close()
	info, err := git.directory("info")
	if err != nil {
		return ignore.Rules{}
	}
	defer info.close()
	data, _ := info.read("exclude", ignore.MaxSize)
	return ignore.Parse(data)
}

// leaveOut reports whether path, relative to the root, is ignored. Files named
// .ignore come before those of git, and a nearer file before one further up.
func (i *ignores) leaveOut(path string, directory bool) bool {
	for at := i; at != nil; at = at.above {
		if verdict := at.tree.Match(path[at.prefix:], directory); verdict != ignore.Unknown {
			return verdict == ignore.Ignored
		}
	}
	for at := i; at != nil; at = at.above {
		if verdict := at.git.Match(path[at.prefix:], directory); verdict != ignore.Unknown {
			return verdict == ignore.Ignored
		}
		if at.repository {
			return at.exclude.Match(path[at.prefix:], directory) == ignore.Ignored
		}
	}
	return false
}
