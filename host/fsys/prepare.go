package fsys

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// step is a change with what it needs.
type step struct {
	found
	stat      *unix.Stat_t // of the file that is there
	digested  bool         // its content was compared
	temporary *temporary
}

// resolve finds all paths.
func (c *commit) resolve(ctx context.Context) error {
	return c.each(ctx, "resolve", func(i int) error {
		if err := c.changes[i].check(); err != nil {
			return err
		}
		found, err := c.find(c.changes[i])
		if err != nil {
			return err
		}
		c.steps[i], c.paths[i] = step{found: found}, found.identities()
		c.results[i].Path, c.results[i].To = c.paths[i].path, c.paths[i].to
		return nil
	})
}

// resolveAgain finds all paths anew, now that the permission is there.
func (c *commit) resolveAgain(ctx context.Context) error {
	return c.each(ctx, "resolve again", func(i int) error {
		found, err := c.find(c.changes[i])
		if err != nil {
			return err
		}
		c.steps[i] = step{found: found}
		if found.identities() != c.paths[i] {
			return &Error{Kind: KindConflict, Path: c.changes[i].Path, Text: "it leads elsewhere than when permission was asked; try again"}
		}
		return nil
	})
}

// compare looks at every file for what is expected of it.
func (c *commit) compare(ctx context.Context) error {
	return c.each(ctx, "compare", func(i int) error { return c.steps[i].compare(ctx, c.changes[i]) })
}

func (s *step) compare(ctx context.Context, change Change) error {
	if s.to != nil {
		if err := s.compareNewPath(change); err != nil {
			return err
		}
	}
	if !s.source.present {
		if change.Expect != "" && change.Expect != Absent {
			return conflict(change.Path, "it is not there any more")
		}
		return nil
	}
	if change.Expect == Absent {
		return conflict(change.Path, "it is there already")
	}
	stat, digest, err := s.source.sample(ctx, change.Expect != "")
	if err != nil {
		return err
	}
	s.stat, s.digested = stat, digest != ""
	if digest != change.Expect {
		return conflict(change.Path, "its content is not what was expected; read it again")
	}
	if change.Op == OpWrite || change.Data != nil {
		return again(func() error {
			return unix.Faccessat(s.source.folder.fd(), s.source.name, unix.W_OK, unix.AT_EACCESS)
		})
	}
	return nil
}

// compareNewPath looks where a rename goes.
func (s *step) compareNewPath(change Change) error {
	switch {
	case s.to.present:
		return conflict(change.To, "there is a file already")
	case change.Data == nil && s.source.folder.id.device != s.to.folder.id.device:
		return unix.EXDEV
	}
	return nil
}

// sample describes the file and, if asked to, digests its content.
func (t *target) sample(ctx context.Context, digest bool) (*unix.Stat_t, string, error) {
	if !digest {
		stat, err := t.folder.stat(t.name)
		return stat, "", err
	}
	fd, before, err := t.folder.regular(t.name)
	if err != nil {
		return nil, "", err
	}
	defer unix.Close(fd)
	sum := sha256.New()
	text := &content{fd: fd, rest: -1}
	for ctx.Err() == nil {
		if _, err := io.CopyN(sum, text, 1<<20); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, "", err
		}
	}
	var after unix.Stat_t
	if err := again(func() error { return unix.Fstat(fd, &after) }); err != nil {
		return nil, "", err
	}
	if !unchanged(before, &after) {
		return nil, "", errMoved
	}
	return before, hex.EncodeToString(sum.Sum(nil)), nil
}

// unchanged compares what the system says of a file at two times.
func unchanged(before, after *unix.Stat_t) bool {
	return idOf(before) == idOf(after) && before.Size == after.Size && before.Mtim == after.Mtim && before.Ctim == after.Ctim
}

// look makes sure that nothing has changed while content was staged.
func (c *commit) look(ctx context.Context) error {
	return c.each(ctx, "look", func(i int) error { return c.steps[i].look(c.changes[i]) })
}

func (s *step) look(change Change) error {
	now, err := s.source.folder.stat(s.source.name)
	switch {
	case change.Op == OpWrite && errors.Is(err, unix.ENOENT) && !s.digested:
		return nil
	case err != nil:
		return err
	case change.Expect == Absent:
		return conflict(change.Path, "it is there already")
	case s.digested && !unchanged(s.stat, now):
		return conflict(change.Path, "it changed while the commit was being written; read it again")
	}
	return nil
}
