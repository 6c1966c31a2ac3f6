package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// Where sessions work.
const (
	home      = "/home"
	elsewhere = "/elsewhere"
)

// world is everything that outlives a host: the model's memory, what tools did to the
// outside, the person's drafts; and the reference that it is held to.
type world struct {
	t       *testing.T
	course  course
	host    *host
	history *history
	read    int   // how many entries of the log history has taken
	base    int64 // where the sessions have been made: no crash goes back beyond it
	drafts  []session.PromptRequest
	skies   [3]atomic.Int64 // of the sources, in their order
	summary atomic.Int64    // how the next summaries come out, of summaries
	closing []string        // requests that the step must have closed

	mu        sync.Mutex
	broken    error // the first thing that must not happen
	revisions map[string]int
	effects   []effect
	attempts  map[string]int
	played    map[string]int // how many turns of a plan, by the prompt's id
	streaming map[string]bool
	blocked   []*gate
	open      bool // nothing blocks any more
	unsteady  bool // what sources say may have changed since the last rest
}

// effect is something that a tool did outside of the store.
type effect struct {
	callKey
	behaviour
	position int64 // of the log, or more, when it happened
}

// gate is a model or a tool that waits to be released.
type gate struct {
	name string
	open chan struct{}
}

func newWorld(t *testing.T, c course) *world {
	w := &world{t: t, course: c, history: newHistory(), revisions: map[string]int{}, attempts: map[string]int{}, played: map[string]int{}, streaming: map[string]bool{}}
	for i := range w.skies {
		w.skies[i].Store(2)
	}
	return w
}

// wrong keeps the first thing that must not happen.
func (w *world) wrong(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken == nil {
		w.broken = fmt.Errorf(format, args...)
	}
}

// revision names the next revision of a plugin; the ones of a first start are the same
// in every process.
func (w *world) revision(plugin string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("r%d", w.revisions[plugin])
}

func (w *world) revise(plugin string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revisions[plugin]++
}

// asked counts a request to the model and holds that it was recorded, once, as it is, and
// that the session has no other. leave ends it.
func (w *world) asked(ctx context.Context, h *host, request session.ModelRequest, turn string) (attempt int, leave func()) {
	if err := h.recorded(ctx, request); err != nil && !h.dead.Load() {
		w.wrong("the model of %s: %w", request.Session, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.streaming[request.Session] && w.broken == nil {
		w.broken = fmt.Errorf("the model of %s is asked while it answers", request.Session)
	}
	w.streaming[request.Session] = true
	key := fmt.Sprint(request.Session, request.Purpose, len(request.Messages), turn)
	w.attempts[key]++
	return w.attempts[key], func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.streaming[request.Session] = false
	}
}

// recorded holds a request to what the log says of it.
func (h *host) recorded(ctx context.Context, request session.ModelRequest) error {
	h.log.mu.Lock()
	t := h.log.told[request.Session]
	turn, making := t.turn, t.making
	if request.Purpose == session.PurposeTurn {
		t.turn = nil
	}
	h.log.mu.Unlock()
	if request.Purpose == session.PurposeCompaction {
		if making == "" {
			return errors.New("it is asked for a summary that nothing has recorded")
		}
		return nil
	}
	if turn == nil || turn.Digest != digestOf(request) {
		return fmt.Errorf("it is asked what no turn has recorded: %+v", turn)
	}
	return h.faithful(ctx, request, turn)
}

// affected records that a tool did what it does.
func (w *world) affected(h *host, call session.ToolCall, b behaviour) {
	position := h.log.position()
	if h.dead.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.effects = append(w.effects, effect{callKey{call.Message, call.ID}, b, position})
}

// block waits until it is released, or ctx ends.
func (w *world) block(ctx context.Context, name string) error {
	g := &gate{name, make(chan struct{})}
	w.mu.Lock()
	if w.open {
		w.mu.Unlock()
		return nil
	}
	w.blocked = append(w.blocked, g)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.blocked = slices.DeleteFunc(w.blocked, func(other *gate) bool { return other == g })
	}()
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release lets the one that waits, if any, go on.
func (w *world) release(item int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.blocked) == 0 {
		return "nothing waits"
	}
	at := item % len(w.blocked)
	g := w.blocked[at]
	close(g.open)
	w.blocked = slices.Delete(w.blocked, at, at+1)
	return g.name
}

// unblock lets everything go on from here on.
func (w *world) unblock() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = true
	for _, g := range w.blocked {
		close(g.open)
	}
	w.blocked = nil
}

// catchUp lets the reference take what the log has got.
func (w *world) catchUp() error {
	entries, _ := w.host.log.snapshot()
	for _, e := range entries[w.read:] {
		w.read++
		if err := w.history.enter(e); err != nil {
			return err
		}
	}
	return nil
}

// expected are the answers that a command may give when something else happens beside
// it.
func expected(err error) bool {
	_, conflict := errors.AsType[*session.ConflictError](err)
	return err == nil || conflict || errors.Is(err, session.ErrResolved) || errors.Is(err, session.ErrBusy) || errors.Is(err, session.ErrInvalid) || isGone(err)
}

// isGone tells of a session that was removed.
func isGone(err error) bool {
	return errors.Is(err, store.ErrDeleted) || errors.Is(err, session.ErrNotFound)
}
