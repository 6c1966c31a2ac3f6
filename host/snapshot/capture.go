package snapshot

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// taken is a snapshot that was just taken, with the files that it could not hold.
type taken struct {
	tree string
	left map[string]bool
}

// batch is how many files are taken into the index at once. What was taken stays when
// the time is up, so the next capture goes on from there.
const batch = 2000

// capture looks for what differs from the index, takes it over and names the tree. Most
// often nothing differs, and that is one run of git.
func (r *repository) capture(ctx context.Context) (taken, error) {
	differing, left, err := r.differing(ctx)
	if err != nil {
		return taken{}, fmt.Errorf("look for changed files: %w", err)
	}
	r.tell(left)
	if crowd := r.held() + differing.fresh - len(differing.gone); crowd > r.store.options.MaxFiles {
		if !r.crowded {
			r.store.options.Logger.Warn("no snapshots of a project with too many files; ignore some of them, or raise snapshots.max_files",
				"root", r.root, "files", crowd, "limit", r.store.options.MaxFiles)
		}
		r.crowded, r.tree = true, ""
		return taken{}, nil
	}
	r.crowded = false
	// The ones that are gone first: another may have come into their place.
	err = r.take(ctx, differing.gone, "--force-remove")
	if err == nil {
		err = r.take(ctx, differing.there, "--add", "--remove", "--replace")
	}
	if err != nil {
		return taken{}, fmt.Errorf("take changed files over: %w", err)
	}
	if r.tree == "" {
		out, err := r.git(ctx, nil, "write-tree")
		if err != nil {
			return taken{}, fmt.Errorf("name the files: %w", err)
		}
		r.tree = string(bytes.TrimSpace(out))
	}
	if err := r.keep(r.tree); err != nil {
		return taken{}, fmt.Errorf("keep the snapshot: %w", err)
	}
	return taken{tree: r.tree, left: left}, nil
}

// changed are paths that differ from the index.
type changed struct {
	gone  []string
	there []string
	fresh int // of there, the ones that the index does not have
}

// literal takes the meaning from what git would read as a pattern.
func literal(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, ` `, `\ `).Replace(name)
}

// differing answers the paths to take over, and those that a snapshot cannot hold.
func (r *repository) differing(ctx context.Context) (paths changed, left map[string]bool, err error) {
	args := []string{"ls-files", "-z", "-t", "--others", "--modified", "--exclude-standard"}
	if excludes := projectExcludes(r.root); excludes != "" {
		args = append(args, "--exclude-from="+excludes)
	}
	for _, folder := range r.excluded {
		args = append(args, "--exclude=/"+literal(folder)+"/") // git need not look at them
	}
	out, err := r.git(ctx, nil, args...)
	if err != nil {
		return changed{}, nil, err
	}
	left = map[string]bool{}
	real := map[string]bool{".": true}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		tag, name, ok := strings.Cut(entry, " ")
		if !ok || strings.HasSuffix(name, "/") || strings.HasPrefix(path.Base(name), temporary) || r.excludes(name) {
			continue // a repository of its own is not entered
		}
		switch fresh := tag == "?"; r.look(name, real) {
		case beyond:
			left[name] = true
		case holdable:
			paths.there = append(paths.there, name)
			if fresh {
				paths.fresh++
			}
		case absent:
			if !fresh { // else it has gone meanwhile
				paths.gone = append(paths.gone, name)
			}
		}
	}
	return paths, left, nil
}

// sight is what a path has for a snapshot.
type sight int

const (
	absent   sight = iota // no file: nothing, a folder, a device, or behind a link by now
	holdable              // a file that can be read, or a link
	beyond                // a file that is too large or cannot be read
)

// look keeps in real which folders are no links.
func (r *repository) look(name string, real map[string]bool) sight {
	full := filepath.Join(r.root, filepath.FromSlash(name))
	if !r.real(path.Dir(name), real) {
		return absent
	}
	info, err := os.Lstat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return absent
	case err != nil:
		return beyond
	case info.Mode()&fs.ModeSymlink != 0:
		return holdable
	case !info.Mode().IsRegular():
		return absent
	case info.Size() > r.store.options.MaxFileBytes:
		return beyond
	}
	file, err := os.OpenFile(full, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return beyond
	}
	file.Close()
	return holdable
}

func (r *repository) real(folder string, known map[string]bool) bool {
	is, seen := known[folder]
	if !seen {
		info, err := os.Lstat(filepath.Join(r.root, filepath.FromSlash(folder)))
		is = err == nil && info.IsDir() && r.real(path.Dir(folder), known)
		known[folder] = is
	}
	return is
}

// tell logs files that are left out, each once.
func (r *repository) tell(left map[string]bool) {
	for name := range left {
		if !r.skipped[name] {
			r.store.options.Logger.Info("a file is not in the snapshots: it is too large or cannot be read",
				"root", r.root, "file", name, "limit", r.store.options.MaxFileBytes)
		}
	}
	r.skipped = left
}

// take brings the index up to date with the paths.
func (r *repository) take(ctx context.Context, paths []string, how ...string) error {
	for len(paths) > 0 {
		// What a git that was killed left; nobody else works on this index.
		if err := os.Remove(filepath.Join(r.folder, "index.lock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		r.tree = ""
		some := paths[:min(batch, len(paths))]
		input := []byte(strings.Join(some, "\x00") + "\x00")
		if _, err := r.git(ctx, input, slices.Concat([]string{"update-index", "-q", "--refresh"}, how, []string{"-z", "--stdin"})...); err != nil {
			return err
		}
		paths = paths[len(some):]
	}
	return nil
}

// held is the number of files in the index: the third word of its header.
func (r *repository) held() int {
	file, err := os.Open(filepath.Join(r.folder, "index"))
	if err != nil {
		return 0 // there is none yet
	}
	defer file.Close()
	var header [12]byte
	if _, err := io.ReadFull(file, header[:]); err != nil {
		return 0
	}
	return int(binary.BigEndian.Uint32(header[8:]))
}

// projectExcludes is the file with which a person ignores files for themselves in the
// project's repository; "" when there is none.
func projectExcludes(root string) string {
	common := filepath.Join(root, ".git")
	if info, err := os.Lstat(common); err == nil && info.Mode().IsRegular() { // a linked work tree
		common = linked(root, common)
	}
	excludes := filepath.Join(common, "info", "exclude")
	if info, err := os.Lstat(excludes); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return excludes
}

// linked is the repository that the file .git of a linked work tree leads to.
func linked(root, file string) string {
	gitdir, ok := strings.CutPrefix(firstLine(file), "gitdir: ")
	if !ok {
		return ""
	}
	if !filepath.IsAbs(gitdir) {
		gitdir = filepath.Join(root, gitdir)
	}
	common := firstLine(filepath.Join(gitdir, "commondir"))
	switch {
	case common == "":
		return gitdir
	case filepath.IsAbs(common):
		return common
	}
	return filepath.Join(gitdir, common)
}

// firstLine reads the only line of a small regular file.
func firstLine(name string) string {
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() || info.Size() > 8<<10 {
		return ""
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimRight(line, "\r")
}
