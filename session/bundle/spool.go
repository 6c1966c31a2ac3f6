package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// Names in the importer's folder: of a file that is being received, and of one that was
// found to be whole and will be taken.
const (
	incoming = "incoming-"
	accepted = "accepted-"
)

// spooled is a file that is kept while it is imported.
type spooled struct {
	file *os.File
	sum  string
}

// keep receives a file and compares it with its sum.
func (im *Importer) keep(ctx context.Context, from io.Reader) (*spooled, error) {
	if err := os.MkdirAll(im.Dir, 0o700); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(im.Dir, incoming) // 0600
	if err != nil {
		return nil, err
	}
	s := &spooled{file: file}
	limits := im.limits()
	size, err := io.Copy(file, io.LimitReader(whileWanted{ctx, from}, limits.Bytes+1))
	if err == nil && size > limits.Bytes {
		err = fmt.Errorf("the file is larger than %d bytes, the limit: %w", limits.Bytes, store.ErrTooLarge)
	}
	if err == nil {
		s.sum, err = checkSum(file, limits)
	}
	if err != nil {
		return nil, errors.Join(err, s.close(false))
	}
	return s, nil
}

// whileWanted reads until ctx ends.
type whileWanted struct {
	ctx  context.Context
	from io.Reader
}

func (r whileWanted) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.from.Read(p)
}

// accept makes it durable that the file will be taken.
func (s *spooled) accept() error {
	if err := s.file.Sync(); err != nil {
		return err
	}
	folder, name := filepath.Split(s.file.Name())
	if strings.HasPrefix(name, accepted) {
		return nil
	}
	if err := os.Rename(s.file.Name(), filepath.Join(folder, accepted+s.sum)); err != nil {
		return err
	}
	return syncFolder(folder)
}

// close forgets the file, unless it is kept for the next start.
func (s *spooled) close(keep bool) error {
	err := s.file.Close()
	if keep {
		return err
	}
	for _, path := range [...]string{s.file.Name(), filepath.Join(filepath.Dir(s.file.Name()), accepted+s.sum)} {
		if remove := os.Remove(path); remove != nil && !errors.Is(remove, os.ErrNotExist) {
			err = errors.Join(err, remove)
		}
	}
	return err
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Finish takes the files that a crash kept from being taken whole, and removes what was
// not received whole. Call it before anything works on the sessions. A file that cannot
// be taken any more is removed and is among the errors.
func (im *Importer) Finish(ctx context.Context) ([]Imported, error) {
	im.mu.Lock()
	defer im.mu.Unlock()
	entries, err := os.ReadDir(im.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("finish imports: %w", err)
	}
	var all []Imported
	var errs []error
	for _, entry := range entries {
		path := filepath.Join(im.Dir, entry.Name())
		switch {
		case strings.HasPrefix(entry.Name(), accepted):
			imported, err := im.finish(ctx, path)
			all, errs = append(all, imported...), append(errs, err)
		case strings.HasPrefix(entry.Name(), incoming):
			errs = append(errs, os.Remove(path))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return all, fmt.Errorf("finish imports: %w", err)
	}
	return all, nil
}

func (im *Importer) finish(ctx context.Context, path string) ([]Imported, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	kept := &spooled{file: file}
	if kept.sum, err = checkSum(file, im.limits()); err != nil {
		return nil, errors.Join(err, kept.close(false), os.Remove(path))
	}
	return im.take(ctx, session.System(), kept)
}
