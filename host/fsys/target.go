package fsys

import (
	"fmt"
	"path"
	"strings"
)

// found is where a change's paths lead now.
type found struct {
	source target
	to     *target // of a rename
}

// target is a name in an open directory.
type target struct {
	identity string
	folder   directory // the nearest that is there
	missing  []string  // folders below it
	name     string
	present  bool
}

// find resolves the paths of a change.
func (c *commit) find(change Change) (f found, err error) {
	f.source, err = c.target(change.Path, goal{absent: change.Op == OpWrite, own: change.Op != OpWrite})
	if err != nil {
		return found{}, err
	}
	if change.Op == OpRename {
		to, err := c.target(change.To, goal{absent: true, own: true})
		if err == nil && to.identity == f.source.identity {
			to, err = otherSpelling(to, change.To)
		}
		if err != nil {
			return found{}, err
		}
		f.to = &to
	}
	for _, t := range f.targets() {
		if err := t.check(change); err != nil {
			return found{}, err
		}
	}
	return f, nil
}

// target resolves one path to a file, or to where one could be.
func (c *commit) target(p string, goal goal) (target, error) {
	w, err := c.roots.walk(c.root, p)
	if err != nil {
		return target{}, err
	}
	defer w.close()
	c.canonical = w.canonical
	end, err := w.resolve(goal)
	if err != nil {
		return target{}, err
	}
	if end.name == "" {
		return target{}, &Error{Kind: KindInvalid, Path: p, Text: "it is a directory; a commit changes files"}
	}
	folder, err := c.folder(path.Join(w.names...), w.top())
	if err != nil {
		return target{}, systemError(p, err)
	}
	return target{identity: w.identity(end), folder: folder, missing: end.missing, name: end.name, present: end.stat != nil}, nil
}

// folder keeps one handle of each folder open.
func (c *commit) folder(identity string, found directory) (directory, error) {
	if open, ok := c.folders[identity]; ok {
		if open.id != found.id {
			return directory{}, errMoved
		}
		return open, nil
	}
	open, err := found.directory(".")
	if err == nil {
		c.folders[identity] = open
	}
	return open, err
}

// otherSpelling is the target of a rename that changes nothing but the spelling, on
// a file system that takes both for the same file.
func otherSpelling(to target, wanted string) (target, error) {
	name := path.Base(wanted)
	if name == to.name {
		return to, &Error{Kind: KindInvalid, Path: wanted, Text: "the new path is the old one"}
	}
	to.identity, to.name, to.present = path.Join(path.Dir(to.identity), name), name, false
	return to, nil
}

func (t *target) check(change Change) error {
	switch {
	case len(t.missing) > 0 && !change.Parents:
		return &Error{Kind: KindNotFound, Path: change.Path, Text: fmt.Sprintf("the folder %q is not there; let the change make parents", path.Dir(t.identity))}
	case strings.HasPrefix(t.name, temporaryPrefix):
		return &Error{Kind: KindInvalid, Path: change.Path, Text: "names that begin with " + temporaryPrefix + " are for files half written"}
	}
	return nil
}

// folderIdentity is the identity of the folder that is there.
func (t *target) folderIdentity() string {
	identity := t.identity
	for range len(t.missing) + 1 {
		identity = path.Dir(identity)
	}
	return identity
}

// place is where a change puts content.
func (f *found) place() *target {
	if f.to == nil {
		return &f.source
	}
	return f.to
}

func (f *found) targets() []*target {
	if f.to == nil {
		return []*target{&f.source}
	}
	return []*target{&f.source, f.to}
}

func (f *found) identities() identities {
	if f.to == nil {
		return identities{path: f.source.identity}
	}
	return identities{f.source.identity, f.to.identity}
}
