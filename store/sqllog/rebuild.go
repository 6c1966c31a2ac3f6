package sqllog

import (
	"context"
	"fmt"

	"github.com/plinthhost/plinth/store"
)

// RebuildChunk is how many events one step of a rebuild feeds to the view.
const RebuildChunk = 256

// Rebuild is one rebuilding of a view in steps, each in a write transaction of
// its own, so that appends go on between them. A rebuild that does not reach its
// end leaves the view stale.
type Rebuild struct {
	log   *Log
	state *viewState
	after int64
	begun bool
}

// Rebuild prepares the rebuilding of a view; store.ErrNotFound for an unknown one.
func (l *Log) Rebuild(name string) (*Rebuild, error) {
	for _, s := range l.views.all {
		if s.view.Name() == name {
			return &Rebuild{log: l, state: s}, nil
		}
	}
	return nil, fmt.Errorf("view %s: %w", name, store.ErrNotFound)
}

// Step feeds the next events and answers the state to install with Committed
// once the transaction is committed.
func (r *Rebuild) Step(ctx context.Context, tx store.Tx) (RebuildState, error) {
	if !r.begun {
		return r.begin(ctx, tx)
	}
	page, err := r.log.Feed(ctx, tx, r.after, RebuildChunk)
	if err != nil {
		return RebuildState{}, err
	}
	next := RebuildState{after: r.after, reason: reasonRebuild}
	for _, event := range page.Events {
		if err := r.state.view.Apply(ctx, tx, event); err != nil {
			return RebuildState{}, fmt.Errorf("rebuild view %s: %s of %s: %w", r.state.view.Name(), event.Type, event.Aggregate, err)
		}
		next.after = event.Position
	}
	if page.More {
		return next, nil
	}
	next.Done, next.reason = true, ""
	if _, err := tx.Exec(ctx, upsertView, r.state.view.Name(), ""); err != nil {
		return RebuildState{}, fmt.Errorf("mark view %s fresh: %w", r.state.view.Name(), err)
	}
	return next, nil
}

func (r *Rebuild) begin(ctx context.Context, tx store.Tx) (RebuildState, error) {
	name := r.state.view.Name()
	if _, err := tx.Exec(ctx, upsertView, name, reasonRebuild); err != nil {
		return RebuildState{}, fmt.Errorf("mark view %s stale: %w", name, err)
	}
	if err := r.state.view.Clear(ctx, tx); err != nil {
		return RebuildState{}, fmt.Errorf("clear view %s: %w", name, err)
	}
	return RebuildState{reason: reasonRebuild}, nil
}

// RebuildState is what one step reached.
type RebuildState struct {
	// Done is set when the view has every event.
	Done   bool
	after  int64
	reason string
}

// Committed installs the state of a step whose transaction is durable. It must
// run before the next append is written.
func (r *Rebuild) Committed(s RebuildState) {
	r.begun, r.after = true, s.after
	r.log.views.mu.Lock()
	defer r.log.views.mu.Unlock()
	r.state.reason, r.state.saved = s.reason, true
}
