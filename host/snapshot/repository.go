package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plinthhost/plinth/session"
)

// repository is the private one of a project root. Its fields belong to who holds the
// turn.
type repository struct {
	store  *Store
	folder string // the git directory
	root   string // the work tree
	turn   chan struct{}

	ready   bool
	tree    string // of the index as it is; "" when not known
	crowded bool   // the project was told of as one with too many files
	// excluded are folders, with slashes and relative to the root.
	excluded []string
	skipped  map[string]bool
}

// repository answers the one of a root. Nothing is made on the disk yet.
func (s *Store) repository(root string) (*repository, error) {
	if !filepath.IsAbs(root) {
		return nil, fmt.Errorf("%w: the root %q is not absolute", session.ErrInvalid, root)
	}
	sum := sha256.Sum256([]byte(root))
	folder := filepath.Join(s.options.Folder, hex.EncodeToString(sum[:16]))
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repositories[folder]
	if r == nil {
		r = &repository{store: s, folder: folder, root: root, turn: make(chan struct{}, 1), excluded: below(root, s.options.Exclude)}
		s.repositories[folder] = r
	}
	return r, nil
}

// below answers those of the folders that lie in the root, relative to it; a link on the
// way is followed, so that a folder is known by each of its names.
func below(root string, folders []string) (relative []string) {
	for _, folder := range folders {
		names := []string{folder}
		if real, err := filepath.EvalSymlinks(folder); err == nil {
			names = append(names, real)
		}
		for _, name := range names {
			if within, err := filepath.Rel(root, name); err == nil && filepath.IsLocal(within) {
				relative = append(relative, filepath.ToSlash(within))
			}
		}
	}
	return relative
}

// excludes reports whether a path lies in a folder that no snapshot has.
func (r *repository) excludes(name string) bool {
	return slices.ContainsFunc(r.excluded, func(folder string) bool { return folder == "." || within(name, folder) })
}

// settings are the repository's own configuration: no program of anybody runs, nothing
// is fetched, and files are kept byte for byte under whatever names they have.
const settings = `
[core]
	bare = true
	hooksPath = /dev/null
	fsmonitor = false
	attributesFile = /dev/null
	excludesFile = /dev/null
	autocrlf = false
	safecrlf = false
	symlinks = true
	protectNTFS = false
	protectHFS = false
	fsync = objects,reference,index
	fsyncMethod = batch
	loosecompression = 1
[protocol]
	allow = never
[gc]
	auto = 0
	packRefs = false
[maintenance]
	auto = false
[submodule]
	recurse = false
[diff]
	external =
	ignoreSubmodules = all
`

// attributes stand above those of the project.
const attributes = "* -text -ident !eol !filter !working-tree-encoding !diff !merge !whitespace\n"

const rootFile = "plinth-root" // holds the path of the root

// open makes the repository when it is missing. The file that says whose it is comes
// last, so one that was broken off is made anew.
func (r *repository) open(ctx context.Context) error {
	if r.ready {
		return nil
	}
	if _, err := os.Stat(filepath.Join(r.folder, rootFile)); err == nil {
		r.ready = true
		return nil
	}
	if err := os.MkdirAll(r.store.options.Folder, 0o700); err != nil {
		return fmt.Errorf("make the folder of snapshots: %w", err)
	}
	if err := os.RemoveAll(r.folder); err != nil {
		return fmt.Errorf("clear a broken repository: %w", err)
	}
	command := r.command(ctx, "-c", "init.defaultBranch=none", "init", "--quiet", "--bare", "--template=", r.folder)
	command.Dir, command.Env = r.store.options.Folder, r.environment(false)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("make a repository for snapshots: %w: %s", err, oneLine(output))
	}
	config, err := os.OpenFile(filepath.Join(r.folder, "config"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("configure snapshots: %w", err)
	}
	_, err = config.WriteString(settings)
	if err = errors.Join(err, config.Close()); err != nil {
		return fmt.Errorf("configure snapshots: %w", err)
	}
	for _, folder := range []string{"info", "refs/trees"} {
		if err := os.MkdirAll(filepath.Join(r.folder, folder), 0o700); err != nil {
			return fmt.Errorf("configure snapshots: %w", err)
		}
	}
	for _, file := range [...][2]string{{"info/attributes", attributes}, {rootFile, r.root + "\n"}} {
		if err := os.WriteFile(filepath.Join(r.folder, file[0]), []byte(file[1]), 0o600); err != nil {
			return fmt.Errorf("configure snapshots: %w", err)
		}
	}
	r.ready = true
	return nil
}

// environment is all that git sees. Nothing of the host's reaches it but the PATH.
func (r *repository) environment(work bool) []string {
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.store.options.Folder, "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=", "GIT_NO_REPLACE_OBJECTS=1", "GIT_PAGER=cat", "GIT_EDITOR=false", "GIT_ASKPASS=false"}
	if work {
		environ = append(environ, "GIT_DIR="+r.folder, "GIT_WORK_TREE="+r.root)
	}
	return environ
}

// maxOutput bounds what one command of git may say, in bytes.
const maxOutput = 256 << 20

// command is git in the root, ended with ctx.
func (r *repository) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, r.store.options.Git, args...) //nolint:gosec // the user's git with arguments of ours
	command.Dir, command.Env = r.root, r.environment(true)
	command.WaitDelay = time.Second
	return command
}

// git runs a command and answers what it wrote.
func (r *repository) git(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	command := r.command(ctx, args...)
	if input != nil {
		command.Stdin = bytes.NewReader(input)
	}
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &bounded{&out, maxOutput}, &bounded{&errs, 4 << 10}
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, oneLine(errs.Bytes()))
	}
	if out.Len() >= maxOutput {
		return nil, fmt.Errorf("git %s: it wrote more than %d bytes", args[0], maxOutput)
	}
	return out.Bytes(), nil
}

// bounded keeps the first bytes of what is written.
type bounded struct {
	to   *bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.to.Len(); room > 0 {
		b.to.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func oneLine(text []byte) string {
	return strings.Join(strings.Fields(string(text)), " ")
}

// ref is the file that keeps a tree from being pruned; its time of change is when the
// files were last known to be in that state.
func (r *repository) ref(tree string) string { return filepath.Join(r.folder, "refs", "trees", tree) }

// keep makes the tree a snapshot.
func (r *repository) keep(tree string) error {
	now := r.store.options.Clock.Now()
	info, err := os.Stat(r.ref(tree))
	switch {
	case err == nil && now.Sub(info.ModTime()) < time.Hour:
		return nil
	case err == nil:
		return os.Chtimes(r.ref(tree), now, now)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	file, err := os.CreateTemp(filepath.Join(r.folder, "refs"), "new-*.lock")
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, tree+"\n")
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), r.ref(tree))
	}
	if err != nil {
		_ = os.Remove(file.Name()) // a lock file that git ignores
	}
	return err
}

// known answers nil for snapshots that are kept.
func (r *repository) known(snapshots ...string) error {
	for _, snapshot := range snapshots {
		if !isObject(snapshot) {
			return fmt.Errorf("%w: %q names none", session.ErrNoSnapshot, snapshot)
		}
		if _, err := os.Stat(r.ref(snapshot)); err != nil {
			return fmt.Errorf("%w: %s of %s", session.ErrNoSnapshot, snapshot, r.root)
		}
	}
	return nil
}

// isObject reports whether a text is the name of a git object.
func isObject(text string) bool {
	if len(text) != 40 && len(text) != 64 {
		return false
	}
	return !strings.ContainsFunc(text, func(c rune) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'f') })
}
