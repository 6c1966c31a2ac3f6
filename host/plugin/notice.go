package plugin

import (
	"maps"
	"slices"
	"sync"

	"github.com/plinthhost/plinth/host/replay"
)

// Notice is something that a plugin's guest did. Exactly one of Line and Failed is set.
type Notice struct {
	Revision string
	Line     *LogLine
	// Failed is the recording of a call that failed, without the secrets that are known.
	Failed *replay.Recording
}

// LogLine is a line that a guest printed or logged, without the secrets that are known.
type LogLine struct{ Level, Text string }

// Watch has a function told what the guest of a plugin does from now on, until stop is
// called; the plugin need not be there yet. It is called on the goroutines of the calls,
// several at a time, and must return soon. Calls of builtins and of what runs by
// extism/go-sdk are not recorded.
func (m *Manager) Watch(ref Ref, tell func(Notice)) (stop func()) {
	return m.watchers.add(place{ref.ID, ref.Location}, tell)
}

// watchers are who is told of what plugins do.
type watchers struct {
	mu  sync.RWMutex
	all map[place]map[*watcher]bool
}

type watcher struct{ tell func(Notice) }

func (w *watchers) add(at place, tell func(Notice)) (stop func()) {
	one := &watcher{tell}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[place]map[*watcher]bool{}
	}
	if w.all[at] == nil {
		w.all[at] = map[*watcher]bool{}
	}
	w.all[at][one] = true
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if delete(w.all[at], one); len(w.all[at]) == 0 {
			delete(w.all, at)
		}
	}
}

// watched reports whether anybody is told of the plugin in a place.
func (w *watchers) watched(at place) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return len(w.all[at]) > 0
}

func (w *watchers) tell(at place, notice Notice) {
	w.mu.RLock()
	all := slices.Collect(maps.Keys(w.all[at]))
	w.mu.RUnlock()
	for _, one := range all {
		one.tell(notice)
	}
}

// logged tells of a line.
func (m *Manager) logged(at place, revision, level, text string) {
	if !m.watchers.watched(at) {
		return
	}
	if m.options.Scrubber != nil {
		text = m.options.Scrubber.Scrub(text)
	}
	m.watchers.tell(at, Notice{Revision: revision, Line: &LogLine{level, text}})
}

// watchedCalls is the sink of the recordings of a plugin: those that the operator wants go
// to where they are kept, and the failing ones to who watches.
type watchedCalls struct {
	manager  *Manager
	at       place
	revision string
	kept     replay.Sink // nil when none are kept
}

// wanted reports whether a call is to be recorded.
func (w watchedCalls) wanted() bool { return w.kept != nil || w.manager.watchers.watched(w.at) }

// Keep takes a recording.
func (w watchedCalls) Keep(recording *replay.Recording) error {
	if recording.End.Failed {
		w.manager.watchers.tell(w.at, Notice{Revision: w.revision, Failed: recording})
	}
	if w.kept == nil {
		return nil
	}
	return w.kept.Keep(recording)
}
