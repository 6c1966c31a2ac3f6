package bundle

import (
	"context"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// What one step of a replay has at most. A session within both is taken in one step.
const (
	stepEvents = 4096
	stepBytes  = 16 << 20
)

// Replayer replays events in the order they are added, many at a time. Owner is nobody:
// a log that is a copy of another host's is refused.
type Replayer struct {
	Log store.Log

	step  []store.Event
	bytes int
}

// Add takes one event. What was added is replayed by Flush, or before.
func (r *Replayer) Add(ctx context.Context, e store.Event) error {
	if len(r.step) > 0 && r.step[0].Aggregate != e.Aggregate || len(r.step) >= stepEvents || r.bytes >= stepBytes {
		if err := r.Flush(ctx); err != nil {
			return err
		}
	}
	r.step, r.bytes = append(r.step, e), r.bytes+len(e.Data)
	return nil
}

// Flush replays what was added last.
func (r *Replayer) Flush(ctx context.Context) error {
	if len(r.step) == 0 {
		return nil
	}
	err := r.Log.Replay(ctx, r.step, store.ReplayOptions{Strict: true, From: from(r.step[0])})
	r.step, r.bytes = r.step[:0], 0
	return err
}

// from is the sequence that the log may begin with: its first event's, when that is of a
// kind with which the history of a pruned session begins.
func from(first store.Event) int64 {
	if first.Type == (session.HistoryPruned{}).EventType() {
		return first.Seq
	}
	return 0
}
