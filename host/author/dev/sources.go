package dev

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/watch"
)

// Bounds of what is looked at in a plugin's folder.
const (
	maxFolders = 512
	maxSources = 4096
	// maxSourceBytes is up to where a file's content decides; of a larger one its size and
	// time do.
	maxSourceBytes = 4 << 20
)

// state is the digests of the sources, by path relative to the plugin's folder.
type state map[string][sha256.Size]byte

// changed lists what is otherwise in the newer one, in order.
func (s state) changed(newer state) []string {
	names := map[string]bool{}
	for name, digest := range newer {
		if before, is := s[name]; !is || before != digest {
			names[name] = true
		}
	}
	for name := range s {
		if _, is := newer[name]; !is {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// sources are the files whose change asks for a build.
type sources struct {
	root     *os.Root
	folder   string
	patterns []string
	hints    *watch.Hints // nil where the system gives none
	watched  map[string]bool
}

// openSources watches a plugin's folder. Without hints of the system it is looked at now
// and then, which poor says.
func openSources(folder string) (s *sources, poor error, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, nil, fmt.Errorf("watch a plugin's folder: %w", err)
	}
	s = &sources{root: root, folder: folder, watched: map[string]bool{}}
	s.hints, poor = watch.NewHints()
	return s, poor, nil
}

func (s *sources) close() error {
	return errors.Join(s.root.Close(), s.hints.Close())
}

// of says which files count: those of dev.watch, the manifest, what lies beside it as JSON,
// and the goldens. The module does not: the build writes it.
func (s *sources) of(manifest abi.Manifest) {
	s.patterns = []string{plugin.ManifestName, "*.json"}
	if manifest.Dev != nil {
		s.patterns = append(s.patterns, manifest.Dev.Watch...)
	}
	for _, golden := range manifest.Goldens {
		for _, name := range []string{golden.Input, golden.Output} {
			s.patterns = append(s.patterns, literal(name))
		}
	}
}

// literal is the pattern of one name.
func literal(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`).Replace(name)
}

// look reads the sources as they are, and watches the folders that they may be in. A
// folder or file that comes and goes meanwhile is not there.
func (s *sources) look() state {
	found := state{}
	folders := map[string]bool{}
	_ = fs.WalkDir(s.root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case entry.IsDir() && name != "." && skipped(entry.Name()):
			return fs.SkipDir
		case entry.IsDir() && len(folders) < maxFolders:
			folders[name] = true
			s.follow(name)
			return nil
		case entry.IsDir():
			return fs.SkipDir
		case len(found) < maxSources && s.counts(name):
			if digest, err := s.digest(name); err == nil {
				found[name] = digest
			}
		}
		return nil
	})
	maps.DeleteFunc(s.watched, func(name string, _ bool) bool { return !folders[name] }) // its watch went with it
	return found
}

// skipped are folders that tools fill.
func skipped(name string) bool {
	return name[0] == '.' || name == "target" || name == "node_modules"
}

func (s *sources) follow(name string) {
	if s.hints == nil || s.watched[name] {
		return
	}
	if err := s.hints.Add(filepath.Join(s.folder, name)); err == nil {
		s.watched[name] = true
	}
}

func (s *sources) counts(name string) bool {
	if watch.Ignored(path.Base(name)) || path.Ext(name) == ".wasm" {
		return false
	}
	return slices.ContainsFunc(s.patterns, func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, name) })
}

func (s *sources) digest(name string) (digest [sha256.Size]byte, err error) {
	info, err := s.root.Stat(name)
	if err != nil {
		return digest, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSourceBytes {
		return sha256.Sum256(fmt.Appendf(nil, "%s %d %d", info.Mode().Type(), info.Size(), info.ModTime().UnixNano())), nil
	}
	file, err := s.root.Open(name)
	if err != nil {
		return digest, err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(file, maxSourceBytes)); err != nil {
		return digest, err
	}
	return [sha256.Size]byte(sum.Sum(nil)), nil
}
