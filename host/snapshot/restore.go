package snapshot

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/session"
)

// temporary begins the names of files that are being written.
const temporary = ".plinth-restore-"

// Modes of git.
const (
	modeExecutable = "100755"
	modeFile       = "100644"
	modeLink       = "120000"
)

// errLeft: the path is left as it is, because something no snapshot holds is in the way.
var errLeft = errors.New("something that no snapshot holds is in the way")

// restore takes a snapshot first, so what it replaces is held by that.
func (r *repository) restore(ctx context.Context, location session.Location, snapshot string, paths []string) (restored session.Restored, err error) {
	if err := r.known(snapshot); err != nil {
		return restored, err
	}
	if err := r.tidy(paths); err != nil {
		return restored, fmt.Errorf("restore files: %w", err)
	}
	now, err := r.capture(ctx)
	if err != nil {
		return restored, err
	}
	if now.tree == "" {
		return restored, fmt.Errorf("%w: %s has too many files", session.ErrNoSnapshot, r.root)
	}
	changes, err := r.diff(ctx, now.tree, snapshot)
	if err != nil {
		return restored, err
	}
	if paths != nil {
		wanted := make(map[string]bool, len(paths))
		for _, name := range paths {
			wanted[name] = true
		}
		changes = slices.DeleteFunc(changes, func(c change) bool { return !wanted[c.Path] })
	}
	changes = slices.DeleteFunc(changes, func(c change) bool {
		left := now.left[c.Path] || r.excludes(c.Path)
		if left {
			restored.Left = append(restored.Left, c.Path)
		}
		return left
	})
	if len(changes) > 0 {
		err = r.put(ctx, location, changes, &restored)
	}
	slices.SortFunc(restored.Files, func(a, b session.FileDiff) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(restored.Left)
	return restored, err
}

// put carries the changes out: removals first, since a folder may take a file's place.
func (r *repository) put(ctx context.Context, location session.Location, changes []change, restored *session.Restored) error {
	root, err := os.OpenRoot(r.root)
	if err != nil {
		return fmt.Errorf("restore files: %w", err)
	}
	defer root.Close()
	w := &writer{root: root, swept: map[string]bool{}}
	if relative, err := filepath.Rel(r.root, location.Directory); err == nil {
		w.directory = filepath.ToSlash(relative)
	}
	objects, err := r.objects(ctx)
	if err != nil {
		return err
	}
	defer objects.close()
	slices.SortStableFunc(changes, func(a, b change) int { return removalFirst(a) - removalFirst(b) })
	for _, one := range changes {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		switch err := w.apply(one, objects); {
		case errors.Is(err, errLeft):
			r.store.options.Logger.Warn("a file is not restored", "root", r.root, "file", one.Path, "reason", err)
			restored.Left = append(restored.Left, one.Path)
			continue
		case err != nil:
			return fmt.Errorf("restore %s: %w", one.Path, err)
		}
		restored.Files = append(restored.Files, one.FileDiff)
	}
	return nil
}

func removalFirst(c change) int {
	if c.toMode == nothing {
		return 0
	}
	return 1
}

// writer changes files below the root, and never through a link.
type writer struct {
	root      *os.Root
	directory string          // where the session works, relative to the root; stays
	swept     map[string]bool // folders without files that another restore left
}

func (w *writer) apply(c change, objects *objects) error {
	if !proper(c.Path) {
		return errLeft
	}
	if c.toMode == nothing {
		return w.remove(c.Path)
	}
	if err := w.folder(path.Dir(c.Path)); err != nil {
		return err
	}
	info, err := w.root.Lstat(c.Path)
	switch {
	case err == nil && info.IsDir():
		if w.root.Remove(c.Path) != nil { // one that became empty makes room
			return errLeft
		}
		info = nil
	case err == nil && c.fromMode == nothing:
		return errLeft // an ignored file that came into its place
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	content, err := objects.read(c.to)
	if err != nil {
		return err
	}
	name := path.Join(path.Dir(c.Path), temporary+strconv.FormatUint(rand.Uint64(), 36)) //nolint:gosec // a name, no secret
	switch c.toMode {
	case modeLink:
		err = w.root.Symlink(string(content), name)
	case modeFile, modeExecutable:
		err = w.write(name, content, permissions(info, c.toMode == modeExecutable))
	default:
		return errLeft
	}
	if err == nil {
		err = w.root.Rename(name, c.Path)
	}
	if err != nil {
		_ = w.root.Remove(name) // it may not be there
	}
	return err
}

// proper reports whether a path is inside the project and not of a repository.
func proper(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") {
			return false
		}
	}
	return true
}

// permissions are those of the file that was there, but for the executable bits.
func permissions(before fs.FileInfo, executable bool) fs.FileMode {
	mode := fs.FileMode(0o644)
	if before != nil && before.Mode().IsRegular() {
		mode = before.Mode().Perm() &^ 0o111
	}
	if executable {
		mode |= mode & 0o444 >> 2
	}
	return mode
}

func (w *writer) write(name string, content []byte, mode fs.FileMode) error {
	file, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
}

// remove removes a file, and the folders that it leaves empty.
func (w *writer) remove(name string) error {
	if left := w.real(path.Dir(name)); left != nil {
		return left
	}
	info, err := w.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return errLeft
	}
	if err := w.root.Remove(name); err != nil {
		return err
	}
	for folder := path.Dir(name); folder != "." && !within(w.directory, folder); folder = path.Dir(folder) {
		if w.root.Remove(folder) != nil {
			break
		}
	}
	return nil
}

// within reports whether name is the folder or lies below it.
func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}

// real answers errLeft when a folder is behind a link or a file; one that is missing is
// fine.
func (w *writer) real(folder string) error {
	at := ""
	for part := range strings.SplitSeq(folder, "/") {
		at = path.Join(at, part)
		info, err := w.root.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.IsDir():
			return errLeft
		}
	}
	return nil
}

// folder makes a folder with those above it, and removes what a restore that was broken
// off left in it.
func (w *writer) folder(name string) error {
	if w.swept[name] {
		return nil
	}
	if err := w.real(name); err != nil {
		return err
	}
	if err := w.root.MkdirAll(name, 0o755); err != nil {
		return err
	}
	return w.sweep(name)
}

// sweep removes what a restore that was broken off left in a folder.
func (w *writer) sweep(name string) error {
	entries, err := fs.ReadDir(w.root.FS(), name)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), temporary) && !entry.IsDir() {
			if err := w.root.Remove(path.Join(name, entry.Name())); err != nil {
				return err
			}
		}
	}
	w.swept[name] = true
	return nil
}

// tidy removes what a restore of these paths that was broken off left beside them, also
// where nothing is to be restored any more.
func (r *repository) tidy(paths []string) error {
	root, err := os.OpenRoot(r.root)
	if err != nil {
		return err
	}
	defer root.Close()
	w := &writer{root: root, swept: map[string]bool{}}
	for _, name := range paths {
		folder := path.Dir(name)
		if w.swept[folder] || !proper(name) || r.excludes(name) || w.real(folder) != nil {
			continue
		}
		if err := w.sweep(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// objects reads objects of the repository.
type objects struct {
	in    io.WriteCloser
	out   *bufio.Reader
	close func()
}

func (r *repository) objects(ctx context.Context) (*objects, error) {
	command := r.command(ctx, "cat-file", "--batch")
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("read the snapshot: %w", err)
	}
	return &objects{in: in, out: bufio.NewReader(out), close: func() {
		in.Close()
		_ = command.Wait() // what was read was checked
	}}, nil
}

// read answers the bytes of an object: "NAME TYPE SIZE\n", the bytes and a newline.
func (o *objects) read(name string) ([]byte, error) {
	if _, err := io.WriteString(o.in, name+"\n"); err != nil {
		return nil, fmt.Errorf("read the snapshot: %w", err)
	}
	header, err := o.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("read the snapshot: %w", err)
	}
	words := strings.Fields(header)
	if len(words) != 3 || words[1] != "blob" {
		return nil, fmt.Errorf("read the snapshot: %w: git wrote %q", session.ErrNoSnapshot, header)
	}
	size, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil || size < 0 || size > maxOutput {
		return nil, fmt.Errorf("read the snapshot: git wrote %q", header)
	}
	content := make([]byte, size+1)
	if _, err := io.ReadFull(o.out, content); err != nil {
		return nil, fmt.Errorf("read the snapshot: %w", err)
	}
	return content[:size], nil
}
