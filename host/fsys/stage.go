package fsys

import (
	"context"
	"path"
	"path/filepath"
)

type folderMade struct {
	above directory
	name  string
}

// stage makes the folders and writes the content beside its place. It ends at the
// first failure: what makes one fail would make the next.
func (c *commit) stage(ctx context.Context) error {
	for identity, folder := range c.folders {
		if err := folder.clean(); err != nil {
			return commitError(identity, err)
		}
	}
	for i := range c.changes {
		if ctx.Err() != nil {
			return commitEnded(ctx)
		}
		c.writer.looked("stage", i)
		if err := c.stageOne(c.changes[i], &c.steps[i]); err != nil {
			return c.failed(i, err)
		}
	}
	return nil
}

func (c *commit) stageOne(change Change, s *step) error {
	for _, t := range s.targets() {
		if err := c.makeFolders(t); err != nil {
			return err
		}
	}
	if change.Data == nil && change.Op != OpWrite {
		return nil
	}
	return s.fill(change, s.place())
}

// fill writes the content beside where it will be.
func (s *step) fill(change Change, place *target) error {
	mode := uint32(change.Mode.Perm())
	switch {
	case mode != 0:
	case s.source.present:
		mode = uint32(s.stat.Mode) & 0o777
	default:
		mode = 0o644
	}
	var err error
	if s.temporary, err = newTemporary(place.folder, mode); err != nil {
		return err
	}
	if s.source.present {
		if err := s.temporary.resemble(s.stat, mode); err != nil {
			return err
		}
	}
	return s.temporary.fill(change.Data)
}

// makeFolders makes what is missing on the way to a target.
func (c *commit) makeFolders(t *target) error {
	identity := t.folderIdentity()
	for _, name := range t.missing {
		identity = path.Join(identity, name)
		below, open := c.folders[identity]
		if !open {
			made, err := t.folder.make(name)
			if err != nil {
				return err
			}
			if made {
				c.made = append(c.made, folderMade{above: t.folder, name: name})
			}
			if below, err = t.folder.directory(name); err != nil {
				return err
			}
			c.folders[identity] = below
			// It may have come up since the path was resolved, and be Plinth's own.
			if resolveBarred(c.roots.deny).holds(filepath.Join(c.canonical, identity), below.id) {
				return &Error{Kind: KindDenied, Path: identity, Text: barredText}
			}
		}
		t.folder = below
	}
	t.missing = nil
	return nil
}
