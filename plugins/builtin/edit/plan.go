package main

import (
	"path"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
)

// planned is what becomes of one file.
type planned struct {
	section
	before file // of an update
	text   text // likewise; after all chunks so far
	effect effect
}

// plan works a whole patch out before anything is asked or changed. Sections that
// update the same file are one.
func plan(sections []section) (all []*planned, err error) {
	byPath := map[string]*planned{}
	total := 0
	for _, one := range sections {
		name := path.Clean(one.path)
		earlier := byPath[name]
		switch {
		case earlier == nil:
			next := &planned{section: one}
			byPath[name], all = next, append(all, next)
			if err := next.prepare(); err != nil {
				return nil, err
			}
			if total += len(next.before.content); total > maxTotal {
				return nil, plinth.Errorf(abi.KindLimit, "the files of the patch have more than %d bytes together; split it", maxTotal)
			}
			earlier = next
		case one.does != updates || earlier.does != updates || one.to != "" || earlier.to != "":
			return nil, plinth.Errorf(abi.KindInvalidInput, "line %d of the patch: %s is in it twice; say all of a file in one place", one.line, one.path)
		}
		if err := earlier.apply(one.chunks); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// prepare looks at what is there.
func (p *planned) prepare() error {
	switch {
	case p.does == adds:
		p.effect.additions = countLines(p.content)
		if _, err := host.Stat(abi.Path{Path: p.path}); err == nil {
			return plinth.Errorf(abi.KindConflict, "%s cannot be added, because it is there already; update it instead", p.path)
		} // what else there is to say of it, the commit says
	case p.does == updates && len(p.chunks) > 0:
		before, err := loadText(p.path, "add it with "+addFile)
		if err != nil {
			return err
		}
		p.before, p.text = before, newText(p.path, before.text())
	}
	return nil
}

// apply makes the changes of chunks.
func (p *planned) apply(chunks []chunk) error {
	if len(chunks) == 0 {
		return nil
	}
	done, err := p.text.apply(chunks)
	switch {
	case err != nil:
		return err
	case done.additions+done.deletions == 0 && p.to == "":
		return plinth.Errorf(abi.KindInvalidInput, "the update of %s changes nothing: it has no line with - or + in front", p.path)
	}
	p.effect.additions += done.additions
	p.effect.deletions += done.deletions
	p.effect.notes = append(p.effect.notes, done.notes...)
	return nil
}

// change is what the host is asked for.
func (p *planned) change() host.Change {
	switch {
	case p.does == deletes:
		return host.Remove(p.path)
	case p.does == adds:
		change := host.Write(p.path, []byte(p.content))
		change.Expect, change.Parents = absent, true
		return change
	}
	change := host.Change{FSChange: abi.FSChange{Op: "write", Path: p.path, Expect: p.before.digest}}
	if p.to != "" {
		change = host.Rename(p.path, p.to)
		change.Expect, change.Parents = p.before.digest, true
	}
	if len(p.chunks) > 0 {
		change.Content = []byte(p.before.mark() + strings.Join(p.text.lines, ""))
	}
	return change
}
