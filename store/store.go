package store

import (
	"context"
	"io"
	"time"
)

// Log is an append-only log of events in aggregates, with kernel tables that
// are written in the same transaction as the events they follow from.
//
// All methods may be called at the same time from many goroutines.
type Log interface {
	// ID names this incarnation of the log. It changes when a store is restored
	// from a backup, so a cursor of the old one is told apart.
	ID() string

	// Append writes the batch and runs the projections on each event, in one
	// atomic and durable step, and answers the events with Seq, Position and
	// Fence set. When it returns nil the events survive a loss of power.
	//
	// Errors: ErrSequence, ErrFenced, ErrDeleted, ErrEventExists, a *RejectedError
	// with what a projection answered, ErrTooLarge, ErrFull, ErrFailed, ErrClosed.
	// On every error but ErrFailed nothing of the batch was written. When ctx ends while the
	// batch waits, nothing was written and the error is ctx's; once it is being
	// written, Append waits for the outcome whatever becomes of ctx.
	Append(ctx context.Context, batch Batch) ([]Event, error)

	// Read answers up to limit events of the aggregate with Seq > after, in order.
	// An unknown aggregate has an empty page and Head.Seq -1. ErrPruned when
	// after+1 is below Head.First, with the Head in the page; ErrDeleted for a
	// tombstone.
	Read(ctx context.Context, aggregate string, after int64, limit int) (Page, error)

	// Feed answers up to limit events of all aggregates with Position > after.
	Feed(ctx context.Context, after int64, limit int) (Page, error)

	// Watch registers for commits: of one aggregate, or of all when aggregate is
	// empty. Register before the first read, then nothing falls between.
	Watch(aggregate string) *Wake

	// Replay takes events recorded elsewhere into this log. See ReplayOptions.
	Replay(ctx context.Context, events []Event, options ReplayOptions) error

	// Acquire takes the execution lease of an aggregate and answers its fence for
	// Fenced appends. Where one process holds the store the lease is trivial.
	Acquire(ctx context.Context, aggregate string) (fence int64, err error)

	// Delete marks the aggregates deleted, all of them or none, and leaves tombstones:
	// their ids can never be used again. When it returns nobody sees them any more; their
	// rows and events go later, in small steps between the appends of others, also
	// after a crash. Deleting a tombstone is no error, and an id that was never used
	// becomes one. Watchers are poked. ErrTooLarge for more than MaxDelete.
	Delete(ctx context.Context, aggregates ...string) error

	// Prune lets nobody read events of the aggregate below seq any more: Head.First
	// is seq from its return on, and never sinks. They go later, as those of Delete.
	// The newest event always stays. Watchers are poked. Errors: ErrSequence for a seq
	// above Head.Seq, ErrDeleted.
	Prune(ctx context.Context, aggregate string, seq int64) error

	// Purge returns when nothing is left that Delete and Prune have marked so far,
	// or with the error that keeps it.
	Purge(ctx context.Context) error

	// Remains lists what is marked and not gone yet, in no order.
	Remains(ctx context.Context) ([]Remain, error)

	// Bury forgets the tombstones of what was deleted before the instant, and answers
	// how many those were. Their ids can be used again.
	Bury(ctx context.Context, before time.Time) (int, error)

	// View runs read with a consistent snapshot of the kernel tables. Statements
	// that write fail. read must not call the log's View, Read or Feed.
	View(ctx context.Context, read func(Tx) error) error

	// Close waits for what was accepted, then closes the store and pokes all
	// watchers. Safe twice. Everything answers ErrClosed from then on.
	Close() error
}

// Tx is what a projection or a reader sees of the database. Statements are
// written once for all databases: placeholders are $1, $2, … strictly ascending,
// and no text is ordered in SQL.
type Tx interface {
	Exec(ctx context.Context, query string, args ...any) (affected int64, err error)
	Query(ctx context.Context, query string, args ...any) (Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) Row
}

// Row is one answered row. Scan answers ErrNotFound when there is none.
type Row interface{ Scan(dest ...any) error }

// Rows is a result that must be closed.
type Rows interface {
	Row
	Next() bool
	Err() error
	Close() error
}

// Projection keeps tables of its own in the event's transaction.
type Projection interface {
	// Apply writes what follows from the event. An error rejects the append, and
	// reaches the appender inside a *RejectedError. It must not depend on
	// anything but the event and the tables: replay runs it again.
	Apply(ctx context.Context, tx Tx, event Event) error
	// Forget removes rows of an aggregate that is deleted, about as many as limit at
	// most, and reports whether more are left. It runs again until none are. The first
	// run has limit 0 and is part of the deletion itself: it takes away what makes the
	// aggregate visible and stays short.
	Forget(ctx context.Context, tx Tx, aggregate string, limit int) (more bool, err error)
}

// Remain is an aggregate with events or rows that wait to be removed.
type Remain struct {
	Aggregate string
	// Deleted tells a deletion from a pruning.
	Deleted bool
	// Events count those that are still stored.
	Events int64
}

// ReplayOptions say under whose name events are replayed. The rules:
//
//   - Strict and another owner: ErrReplayOwner, before anything else is looked at.
//   - All events are of one aggregate and consecutive, checked before the first
//     is applied; else *ReplayError.
//   - A sequence that is already there must be the same event (id, type, version,
//     data as a JSON value), which is a no-op; else *ReplayError (diverged).
//   - Not strict and another owner: the events are skipped.
//   - A gap, or an id used elsewhere: *ReplayError. A log that is empty here may begin
//     with From, which is then its low-water mark.
//   - Projections run as they did at first. Nothing else does. Watchers are poked.
//   - The owner is stored when the aggregate has none, also by a no-op.
//   - The events are taken whole or not at all. Position is given anew; Fence is
//     kept as recorded and does not change the aggregate's.
type ReplayOptions struct {
	Owner  string
	Strict bool
	// From is the sequence that a pruned log begins with. Whether its events can stand
	// alone is for the caller to know.
	From int64
}

// Blobs keep immutable values by the SHA-256 of their bytes.
type Blobs interface {
	// Put stores the value, durably, and answers its digest as 64 hex digits.
	// Putting the same bytes twice stores them once.
	Put(ctx context.Context, value []byte) (digest string, err error)
	// Get answers the value; ErrNotFound when there is none, ErrCorrupt when the
	// stored bytes do not have that digest.
	Get(ctx context.Context, digest string) ([]byte, error)
	// Open answers a reader over the value and its size in bytes.
	Open(ctx context.Context, digest string) (io.ReadSeekCloser, int64, error)
}

// KV keeps small values by namespace and key. Keys are listed in byte order.
type KV interface {
	Get(ctx context.Context, namespace, key string) ([]byte, error)
	Set(ctx context.Context, namespace, key string, value []byte) error
	Delete(ctx context.Context, namespace, key string) error
	// List answers up to limit keys with the prefix that come after the given key.
	List(ctx context.Context, namespace, prefix, after string, limit int) ([]string, error)
	// Namespaces answers up to limit namespaces that hold keys, with the prefix and after
	// the given one, in byte order.
	Namespaces(ctx context.Context, prefix, after string, limit int) ([]string, error)
	// Clear removes up to limit keys of the namespace, in one step, and answers how many
	// those were. None are left when they are fewer than limit.
	Clear(ctx context.Context, namespace string, limit int) (removed int, err error)
}
