// Package snapshot names states of a project's files, tells what changed between two
// of them, and puts files back. It works with the user's git on private repositories in
// the host's data folder, one for each project root. The project's own repository,
// index, hooks, configuration and attributes are neither used nor touched.
//
//	store, err := snapshot.New(snapshot.Options{Folder: "/home/me/.local/share/plinth/snapshots"})
//	store.Start(ctx)
//	before, err := store.Capture(ctx, location)
//	...
//	files, err := store.Diff(ctx, location, before, after)
//	store.Close()
//
// A snapshot holds what git would: files that are not ignored, with their bytes as they
// are, their executable bit, and symbolic links. It leaves out files above a size,
// repositories inside the project, and files that cannot be read; what a snapshot cannot
// hold is never restored over.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
)

// Limits where Options say nothing.
const (
	DefaultMaxFileBytes = 8 << 20
	DefaultMaxFiles     = 50_000
	DefaultTimeout      = 10 * time.Second
	DefaultKeep         = 7 * 24 * time.Hour
)

// Options say where snapshots are kept, and bound them.
type Options struct {
	// Folder is absolute. It is made when missing, 0700.
	Folder string
	// Exclude are absolute folders that no snapshot has and no restore touches, wherever
	// they lie; Folder is one by itself.
	Exclude []string
	// Git is the program; git of the PATH when empty.
	Git string
	// MaxFileBytes is the largest file that a snapshot holds.
	MaxFileBytes int64
	// MaxFiles is how many files a project may have; one with more has no snapshots.
	MaxFiles int
	// Timeout bounds one operation.
	Timeout time.Duration
	// Keep is how long a snapshot stays after the files were last in that state.
	Keep time.Duration
	// Named answers snapshots that stay longer because something still names them; nil
	// for none.
	Named  func(ctx context.Context) ([]string, error)
	Clock  session.Clock // the system's when nil
	Logger hclog.Logger  // none when nil
}

// ErrNoGit: there is no git to work with.
var ErrNoGit = errors.New("git is not installed, or not in the PATH")

// Store keeps the snapshots. It is a session.Snapshots, for many goroutines.
type Store struct {
	options Options

	mu           sync.Mutex
	repositories map[string]*repository // by folder
	stop         context.CancelFunc     // nil before Start
	closed       bool
	sweeper      sync.WaitGroup
}

var _ session.Snapshots = (*Store)(nil)

// New answers ErrNoGit when there is no git. It writes nothing yet.
func New(options Options) (*Store, error) {
	if options.Git == "" {
		options.Git = "git"
	}
	found, err := exec.LookPath(options.Git)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoGit, err)
	}
	if options.Git, err = filepath.Abs(found); err != nil {
		return nil, err
	}
	options.Exclude = append([]string{options.Folder}, options.Exclude...)
	if options.MaxFileBytes <= 0 {
		options.MaxFileBytes = DefaultMaxFileBytes
	}
	if options.MaxFiles <= 0 {
		options.MaxFiles = DefaultMaxFiles
	}
	if options.Timeout <= 0 {
		options.Timeout = DefaultTimeout
	}
	if options.Keep <= 0 {
		options.Keep = DefaultKeep
	}
	if options.Clock == nil {
		options.Clock = session.SystemClock{}
	}
	if options.Logger == nil {
		options.Logger = hclog.NewNullLogger()
	}
	return &Store{options: options, repositories: map[string]*repository{}}, nil
}

// Capture names the files below the Location's root as they are. It answers "" where
// there are no snapshots: outside of a git work tree, and in a project with too many
// files.
func (s *Store) Capture(ctx context.Context, location session.Location) (snapshot string, err error) {
	if !location.Git {
		return "", nil
	}
	err = s.with(ctx, location, func(ctx context.Context, r *repository) error {
		taken, err := r.capture(ctx)
		snapshot = taken.tree
		return err
	})
	return snapshot, err
}

// Diff answers what changed between two snapshots, ascending by path. Paths have
// slashes and are relative to the Location's root. Additions and deletions are lines, 0
// of a file that is not text. A snapshot that is not kept is session.ErrNoSnapshot.
func (s *Store) Diff(ctx context.Context, location session.Location, from, to string) (files []session.FileDiff, err error) {
	err = s.with(ctx, location, func(ctx context.Context, r *repository) error {
		changes, err := r.diff(ctx, from, to)
		for _, change := range changes {
			files = append(files, change.FileDiff)
		}
		return err
	})
	return files, err
}

// Restore makes the files of the paths what they were in the snapshot, all that differ
// for nil paths, and answers what it changed, as a Diff from the files before. Left as
// they are, and answered as that: files that no snapshot holds, and what lies behind a symbolic link or a
// file where the snapshot has a folder. It can be repeated after it was broken off.
func (s *Store) Restore(ctx context.Context, location session.Location, snapshot string, paths []string) (restored session.Restored, err error) {
	err = s.with(ctx, location, func(ctx context.Context, r *repository) (err error) {
		restored, err = r.restore(ctx, location, snapshot, paths)
		return err
	})
	return restored, err
}

// Patches answers the unified diffs of the paths between two snapshots, as git writes
// them, in the order of paths. Their sum has at most limit bytes; one that does not fit
// any more is "".
func (s *Store) Patches(ctx context.Context, location session.Location, from, to string, paths []string, limit int) (patches []string, err error) {
	err = s.with(ctx, location, func(ctx context.Context, r *repository) (err error) {
		patches, err = r.patches(ctx, from, to, paths, limit)
		return err
	})
	return patches, err
}

// with runs one operation on the repository of the Location's root, alone and in its
// time.
func (s *Store) with(ctx context.Context, location session.Location, do func(context.Context, *repository) error) error {
	if !location.Git {
		return fmt.Errorf("%w: %s is not in a git work tree", session.ErrNoSnapshot, location.Root)
	}
	r, err := s.repository(location.Root)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeoutCause(ctx, s.options.Timeout, fmt.Errorf("git took longer than %v", s.options.Timeout))
	defer cancel()
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-limited.Done():
		return fmt.Errorf("wait for the snapshots of %s: %w", location.Root, context.Cause(limited))
	}
	if err := r.open(limited); err != nil {
		return err
	}
	err = do(limited, r)
	if err != nil && limited.Err() != nil {
		err = fmt.Errorf("snapshots of %s: %w", location.Root, context.Cause(limited))
	}
	return err
}
