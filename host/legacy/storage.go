package legacy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"slices"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/bundle"
)

// Storage is a folder of the older subsystem.
type Storage struct {
	root *os.Root
	// infos are the sessions that could be read, by their old ids: children look for
	// their parents there.
	infos map[string]info
}

// Listed is one session of the storage.
type Listed struct {
	Project string
	ID      string // the old one
}

// Open opens the storage and reads its version. Errors: *FileError.
func Open(folder string) (*Storage, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open the storage: %w", err)
	}
	s := &Storage{root: root, infos: map[string]info{}}
	if err := s.check(); err != nil {
		root.Close()
		return nil, fmt.Errorf("open the storage %s: %w", folder, err)
	}
	return s, nil
}

// Close closes the folder.
func (s *Storage) Close() error { return s.root.Close() }

func (s *Storage) files() *files { return &files{root: s.root, left: MaxSession} }

func (s *Storage) check() error {
	f := s.files()
	var version json.Number
	there, err := f.read("migration", &version)
	switch number, numberErr := version.Int64(); {
	case err != nil:
		return err
	case there && (numberErr != nil || number > newest):
		return &FileError{File: "migration", Reason: fmt.Sprintf("the version of the storage is %s and this program reads up to %d; use a newer one", clip(version.String()), newest)}
	case there && number < 1:
		return &FileError{File: "migration", Reason: fmt.Sprintf("the version of the storage is %d, from before sessions stood by project; run the program that wrote it once more", number)}
	}
	there, err = f.plain("session", true)
	if err == nil && !there {
		err = &FileError{File: "session", Reason: "there is no such folder; give the folder that has session, message and part"}
	}
	return err
}

// maxSessions bounds the sessions of a project.
const maxSessions = 100_000

// List lists the sessions, those of a project when one is named, oldest file names
// first. A session that cannot be read is in it too.
func (s *Storage) List(project string) (all []Listed, err error) {
	f := s.files()
	projects, err := f.list("session", "", maxSessions)
	if err != nil {
		return nil, fmt.Errorf("list the sessions: %w", err)
	}
	for _, one := range projects {
		if project != "" && one != project {
			continue
		}
		ids, err := f.list(path.Join("session", one), ".json", maxSessions)
		if err != nil {
			return nil, fmt.Errorf("list the sessions: %w", err)
		}
		for _, id := range ids {
			all = append(all, Listed{Project: one, ID: id})
			if read, err := s.files().session(one, id); err == nil {
				s.infos[id] = read
			}
		}
	}
	slices.SortFunc(all, func(a, b Listed) int { return int(s.infos[a.ID].Time.Created - s.infos[b.ID].Time.Created) })
	return all, nil
}

// Converted is a session as it will be here.
type Converted struct {
	ID       string // the new one
	Title    string
	Messages int
	Events   int

	header bundle.Header
	made   *maker
}

// Convert reads all of a session's files. Errors: *FileError.
func (s *Storage) Convert(ctx context.Context, listed Listed) (*Converted, error) {
	m := &maker{storage: s, files: s.files(), blobs: map[string][]byte{}}
	if err := m.session(ctx, listed); err != nil {
		return nil, err
	}
	return &Converted{ID: m.id, Title: m.title, Messages: m.messages, Events: len(m.events), made: m,
		header: bundle.Header{Format: bundle.Format, Version: bundle.Version, Session: m.id, Events: int64(len(m.events)), Exported: m.updated}}, nil
}

// Write writes the session as a bundle.
func (c *Converted) Write(to io.Writer) error {
	return bundle.Write(to, []bundle.Header{c.header}, func(w *bundle.Writer) error {
		for _, event := range c.made.events {
			if err := w.Event(event); err != nil {
				return err
			}
		}
		for _, digest := range c.made.order {
			if err := w.Blob(c.made.blobs[digest]); err != nil {
				return err
			}
		}
		return nil
	})
}

// parent answers the new id of a session's parent and how many ancestors the session
// has. A parent that is not in the storage is none: what it limited is not known.
func (s *Storage) parent(id string) (parent string, depth int, err error) {
	for current, known := s.infos[s.infos[id].ParentID]; known; current, known = s.infos[current.ParentID] {
		if depth++; depth == 1 {
			parent = newID(session.PrefixSession, current.ID, current.Time.Created)
		}
		if depth > len(s.infos) {
			return "", 0, fmt.Errorf("its ancestors are in a circle, from %s on", clip(current.ID))
		}
	}
	return parent, depth, nil
}
