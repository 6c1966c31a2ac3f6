package plugin

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/plinthhost/plinth/host/watch"
	"github.com/plinthhost/plinth/session"
)

// ProjectFolder is where a project keeps its plugins, below its root.
const ProjectFolder = ".plinth/plugins"

// watching follows the folders that plugins come from.
type watching struct {
	watcher *watch.Watcher // set by Start
	// reading has what is read offered in the order of reading.
	reading sync.Mutex

	mu      sync.Mutex
	folders map[string]watched
}

// watched is a folder that plugins come from.
type watched struct {
	root string          // of the project; empty for a configured one
	only map[string]bool // paths; nil for all that it holds
}

// from reports whether an entry of the folder is one to look at.
func (w watched) from(path string) bool { return w.only == nil || w.only[path] }

func (w *watching) close() error {
	if w.watcher == nil {
		return nil
	}
	return w.watcher.Close()
}

// find answers the folder that an entry is in; ok is false when it is not to look at.
func (w *watching) find(path string) (folder watched, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	folder, ok = w.folders[filepath.Dir(path)]
	return folder, ok && folder.from(path)
}

// all are the folders with their paths, in their order.
func (w *watching) all() iter.Seq2[string, watched] {
	w.mu.Lock()
	folders := maps.Clone(w.folders)
	w.mu.Unlock()
	return func(yield func(string, watched) bool) {
		for _, path := range slices.Sorted(maps.Keys(folders)) {
			if !yield(path, folders[path]) {
				return
			}
		}
	}
}

// paths are what there is to look at in a folder.
func (w watched) paths(folder string) (paths []string, err error) {
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		if path := filepath.Join(folder, entry.Name()); !strings.HasPrefix(entry.Name(), ".") && w.from(path) {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// watch follows the configured folders and those of trusted projects, and tries what they
// hold.
func (m *Manager) watch(folders, files, trusted []string) error {
	watcher, err := watch.New(watch.Options{Changed: m.changed, Polling: func(directory string, reason error) {
		m.options.Logger.Warn("folders of plugins are looked at each second, as the system does not tell what changes", "directory", directory, "reason", reason)
	}})
	if err != nil {
		return fmt.Errorf("watch the folders of plugins: %w", err)
	}
	m.watching.watcher = watcher
	for _, folder := range folders {
		err = errors.Join(err, m.follow(folder, watched{}))
	}
	for _, file := range files {
		err = errors.Join(err, m.followFile(file))
	}
	for _, root := range trusted {
		err = errors.Join(err, m.follow(projectFolder(root), watched{root: root}))
	}
	return err
}

func projectFolder(root string) string { return filepath.Join(root, filepath.FromSlash(ProjectFolder)) }

// follow watches a folder. What is in it now is for scan.
func (m *Manager) follow(folder string, w watched) error {
	folder = filepath.Clean(folder)
	m.watching.mu.Lock()
	m.watching.folders[folder] = w
	m.watching.mu.Unlock()
	return m.watching.watcher.Add(folder)
}

// followFile watches one plugin, by the folder it is in.
func (m *Manager) followFile(path string) error {
	path = filepath.Clean(path)
	folder := filepath.Dir(path)
	m.watching.mu.Lock()
	w, ok := m.watching.folders[folder]
	m.watching.mu.Unlock()
	switch {
	case !ok:
		w.only = map[string]bool{path: true}
	case w.only != nil:
		w.only[path] = true
	}
	return m.follow(folder, w)
}

// scanAll tries what all the folders hold, and waits for the end. It answers what failed.
func (m *Manager) scanAll() (failed error) {
	var waiting []*offering
	for folder, w := range m.watching.all() {
		waiting = append(waiting, m.scan(folder, w)...)
	}
	for _, offering := range waiting {
		<-offering.done
		failed = errors.Join(failed, unlessBlocked(offering.err))
	}
	for _, s := range m.all() {
		known, _ := s.look()
		source, origin := sourceOf(known)
		switch {
		case source != SourceFolder && source != SourceProject, m.comesBack(origin, s.location):
		case !m.watched(origin, s.location) || readable(filepath.Dir(origin)):
			m.gone(s)
		}
	}
	return failed
}

// scan puts all that a folder holds in line.
func (m *Manager) scan(folder string, w watched) []*offering {
	paths, err := w.paths(folder)
	if err != nil {
		if w.root == "" || !errors.Is(err, os.ErrNotExist) {
			err = &SourceError{Origin: folder, Err: reason(err)}
			m.Refused(err)
			m.options.Logger.Error("plugin refused", "error", err)
		}
		return nil
	}
	m.forgive(folder)
	var waiting []*offering
	for _, path := range paths {
		if offering := m.look(path, w.root); offering != nil {
			waiting = append(waiting, offering)
		}
	}
	return waiting
}

// changed is told by the watcher that an entry of a folder is another one, or gone. It
// does not wait for what follows.
func (m *Manager) changed(change watch.Change) {
	folder, ok := m.watching.find(change.Path)
	if !ok {
		return
	}
	m.forgive(change.Path)
	if !change.Removed {
		m.look(change.Path, folder.root)
		return
	}
	for _, s := range m.all() {
		known, _ := s.look()
		if _, origin := sourceOf(known); origin == change.Path && s.location == folder.root {
			m.aside(func() { m.gone(s) })
		}
	}
}

// aside runs something while its caller goes on, unless the manager is closed.
func (m *Manager) aside(run func()) {
	if m.begin() != nil {
		return
	}
	go func() {
		defer m.work.Done()
		run()
	}()
}

// look reads what is at a path and puts it in line; nil when there is nothing to wait for.
func (m *Manager) look(path, root string) *offering {
	m.watching.reading.Lock()
	defer m.watching.reading.Unlock()
	candidate, ok, err := one(path)
	if err != nil {
		m.options.Logger.Error("plugin refused", "error", err)
		told := m.blame(path, root, err)
		if told == nil {
			m.Refused(err)
		}
		return told
	}
	if !ok {
		return nil
	}
	source := SourceFolder
	if root != "" {
		source = SourceProject
	}
	_, offering, err := m.submit(Offer{Candidate: candidate, Source: source, Location: root, By: session.System()})
	if err != nil {
		return nil // the manager is closed
	}
	return offering
}

// blame notes that the source of a plugin that is known cannot be read any more. What
// serves goes on. What it answers is done when that is noted; nil when there is no such
// plugin.
func (m *Manager) blame(path, root string, cause error) *offering {
	for _, s := range m.all() {
		known, _ := s.look()
		if _, origin := sourceOf(known); origin != path || s.location != root {
			continue
		}
		told := &offering{done: make(chan struct{}), err: cause}
		if m.begin() != nil {
			close(told.done)
			return told
		}
		go func() {
			defer m.work.Done()
			defer close(told.done)
			if s.take(m.life) != nil {
				return
			}
			defer s.yield()
			if known, _ := s.look(); known.State != "" && known.Error != sentence(cause) {
				m.note(s, session.PluginFailed{Plugin: s.id, Location: s.location, Stage: string(stageRead), Message: sentence(cause)})
			}
		}()
		return told
	}
	return nil
}

// gone removes a plugin whose source is there no more.
func (m *Manager) gone(s *slot) {
	if s.take(m.life) != nil {
		return
	}
	defer s.yield()
	known, _ := s.look()
	if _, origin := sourceOf(known); known.State == "" || m.comesBack(origin, s.location) {
		return
	}
	m.options.Logger.Info("a plugin is removed, as its source is gone", "plugin", s.id)
	if err := m.remove(m.life, s, session.System(), Removal{}); err != nil && m.life.Err() == nil {
		m.options.Logger.Error("a plugin whose source is gone was not removed", "plugin", s.id, "error", err)
	}
	m.aside(func() { m.heirs(s) })
}

// heirs tries again what a plugin that is removed kept from serving: others of its id in
// the folders, and what was refused for a name in use.
func (m *Manager) heirs(s *slot) {
	for folder, w := range m.watching.all() {
		paths, err := w.paths(folder)
		if w.root != s.location || err != nil {
			continue // a folder that cannot be read has been told of
		}
		for _, path := range paths {
			if candidate, ok, err := one(path); err == nil && ok && candidate.Manifest.ID == s.id {
				m.look(path, w.root)
			}
		}
	}
	for _, other := range m.all() {
		known, _ := other.look()
		if failed := known.Failed; failed != nil && failed.Stage == string(stageContribute) && m.comesBack(failed.Origin, other.location) {
			m.look(failed.Origin, other.location)
		}
	}
}

// present reports that something is at the path that a plugin came from.
func present(origin string) bool {
	if !filepath.IsAbs(origin) {
		return false
	}
	_, err := os.Stat(origin)
	return err == nil
}

// watched reports that plugins of the Location may come from the path.
func (m *Manager) watched(origin, location string) bool {
	folder, ok := m.watching.find(origin)
	return ok && folder.root == location
}

// comesBack reports that a plugin would be read again from where it came.
func (m *Manager) comesBack(origin, location string) bool {
	return m.watched(origin, location) && present(origin)
}

func readable(folder string) bool {
	_, err := os.ReadDir(folder)
	return err == nil
}

// Trust lets plugins of a project be approved: each version by itself.
func (m *Manager) Trust(ctx context.Context, by session.Origin, root string) error {
	if err := m.begin(); err != nil {
		return err
	}
	defer m.work.Done()
	m.mu.Lock()
	already := m.trusted[root]
	m.mu.Unlock()
	if already {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if err := m.options.Ledger.Record(ctx, by, session.FolderTrusted{Root: root}); err != nil {
		return err
	}
	m.mu.Lock()
	m.trusted[root] = true
	m.mu.Unlock()
	folder := watched{root: root}
	err := m.follow(projectFolder(root), folder)
	for _, offering := range m.scan(projectFolder(root), folder) {
		<-offering.done
	}
	return err
}

// Distrust takes that back: the project's plugins are removed.
func (m *Manager) Distrust(ctx context.Context, by session.Origin, root string) error {
	if err := m.begin(); err != nil {
		return err
	}
	defer m.work.Done()
	m.mu.Lock()
	trusted := m.trusted[root]
	delete(m.trusted, root)
	m.mu.Unlock()
	if !trusted {
		return fmt.Errorf("%w: the project %s is not trusted; plinth plugin list shows those that are", ErrUnknown, clip(root))
	}
	m.unfollow(projectFolder(root))
	ctx = context.WithoutCancel(ctx)
	var all error
	for _, s := range m.all() {
		if s.location != root {
			continue
		}
		if err := s.take(ctx); err != nil {
			return err
		}
		if known, _ := s.look(); known.State != "" {
			all = errors.Join(all, m.remove(ctx, s, by, Removal{}))
		}
		s.yield()
	}
	return errors.Join(all, m.options.Ledger.Record(ctx, by, session.FolderDistrusted{Root: root}))
}

func (m *Manager) unfollow(folder string) {
	m.watching.mu.Lock()
	delete(m.watching.folders, folder)
	m.watching.mu.Unlock()
	m.watching.watcher.Remove(folder)
}

// Trusted are the roots of the projects whose plugins may be approved, ascending.
func (m *Manager) Trusted() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.trusted))
}

// Reload looks again at where a plugin came from, under the settings of now.
func (m *Manager) Reload(ctx context.Context, by session.Origin, ref Ref) (session.Plugin, error) {
	s, err := m.at(ref)
	if err != nil {
		return session.Plugin{}, err
	}
	known, _ := s.look()
	source, origin := sourceOf(known)
	offer := Offer{Source: source, Location: ref.Location, By: by}
	switch source {
	case SourceFolder, SourceProject:
		var ok bool
		if offer.Candidate, ok, err = one(origin); err == nil && !ok {
			err = fmt.Errorf("%w: there is no plugin at %s any more", ErrUnknown, origin)
		}
	default:
		digest := reloadable(known)
		if digest == "" {
			return known, fmt.Errorf("%w: the plugin %s %s", ErrRefused, ref.ID, whyNot(known))
		}
		offer.Candidate, err = m.kept(ref.ID, digest, source, origin)
	}
	if err != nil {
		return known, err
	}
	return m.Offer(ctx, offer)
}

// reloadable is the version of a plugin without a folder that a reload proves: the one
// that serves, or else the last that was to; empty for none.
func reloadable(known session.Plugin) string {
	if current := known.Current(); current != nil {
		return current.Digest
	}
	switch n := len(known.Revisions); {
	case known.State != session.PluginStateFailed && known.State != session.PluginStateStaged:
		return ""
	case known.Failed != nil && known.Failed.Digest != "":
		return known.Failed.Digest
	case n > 0:
		return known.Revisions[n-1].Digest
	}
	return ""
}

// Configure takes the operator's settings of now: a plugin under other settings is
// another revision. A version that waits does not take them from the one that serves.
// What the folders hold is tried again. It answers what failed; those plugins serve as
// before. What was rolled back stays so, and is no failure.
func (m *Manager) Configure(ctx context.Context, by session.Origin, settings map[string]Settings, providers map[string]Connection) error {
	m.mu.Lock()
	m.settings, m.providers = settings, providers
	m.mu.Unlock()
	var failed error
	refused := map[string]string{}                            // why, by id
	for _, id := range slices.Sorted(maps.Keys(m.builtins)) { // they do not change after Start
		_, err := m.Offer(ctx, Offer{Candidate: m.builtins[id], Source: SourceBuiltin, By: by})
		if err = unlessBlocked(err); err != nil {
			failed, refused[id] = errors.Join(failed, err), err.Error()
		}
	}
	return errors.Join(failed, m.resettle(ctx, by, refused), m.scanAll(), m.stand(), m.requireMissing())
}

// resettle has what serves take the settings of now. It answers what failed, but for what
// is told already, by the plugins' ids.
func (m *Manager) resettle(ctx context.Context, by session.Origin, told map[string]string) (failed error) {
	for _, s := range m.all() {
		known, serving := s.look()
		current := known.Current()
		settings, _ := m.configured(s.id)
		var offer Offer
		var err error
		switch {
		case known.State == session.PluginStateQuarantined, serving == nil && m.lacks(known):
			continue
		case serving != nil && current != nil: // its bytes need not be read again
			offer = Offer{Candidate: serving.candidate, Source: current.Source, Location: s.location}
			offer.Candidate.Origin = current.Origin
		case current != nil:
			offer, err = m.version(known, current.Digest)
		case known.State != "" && known.Configured != settings.Disabled: // it never served, and may no more, or again
			offer, err = m.version(known, "")
		default:
			continue
		}
		if err == nil {
			offer.By = by
			_, err = m.Offer(ctx, offer)
		}
		if err = unlessBlocked(err); err != nil && err.Error() != told[s.id] {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
