package sqllog

import (
	"sync"

	"github.com/plinthhost/plinth/store"
)

// Watchers are the registered wakes of a log. The zero value is ready.
type Watchers struct {
	mu sync.Mutex
	// wakes by aggregate; "" has those that watch all of them.
	wakes map[string]map[*store.Wake]struct{}
}

// Watch registers a wake for commits of one aggregate, or of all when it is empty.
func (w *Watchers) Watch(aggregate string) *store.Wake {
	w.mu.Lock()
	defer w.mu.Unlock()
	var wake *store.Wake
	wake = store.NewWake(func() { w.remove(aggregate, wake) })
	if w.wakes == nil {
		w.wakes = make(map[string]map[*store.Wake]struct{})
	}
	if w.wakes[aggregate] == nil {
		w.wakes[aggregate] = make(map[*store.Wake]struct{})
	}
	w.wakes[aggregate][wake] = struct{}{}
	return wake
}

func (w *Watchers) remove(aggregate string, wake *store.Wake) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.wakes[aggregate], wake)
	if len(w.wakes[aggregate]) == 0 {
		delete(w.wakes, aggregate)
	}
}

// Poke marks the wakes of the aggregate and those of all aggregates.
func (w *Watchers) Poke(aggregate string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for wake := range w.wakes[aggregate] {
		wake.Poke()
	}
	if aggregate == "" {
		return
	}
	for wake := range w.wakes[""] {
		wake.Poke()
	}
}

// PokeAll marks every wake, for example when the log closes.
func (w *Watchers) PokeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wakes := range w.wakes {
		for wake := range wakes {
			wake.Poke()
		}
	}
}
