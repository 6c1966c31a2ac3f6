package store

import (
	"errors"
	"fmt"
)

var (
	// ErrSequence: the aggregate's last sequence is not the one the append named.
	ErrSequence = errors.New("the aggregate is at another sequence")
	// ErrFenced: a later execution lease has written to the aggregate.
	ErrFenced = errors.New("a later execution lease holds the aggregate")
	// ErrDeleted: the aggregate was deleted; its id cannot be used again.
	ErrDeleted = errors.New("the aggregate was deleted")
	// ErrEventExists: an event with that id is stored already.
	ErrEventExists = errors.New("an event with that id exists already")
	// ErrPruned: the events asked for lie below the low-water mark.
	ErrPruned = errors.New("the events were pruned")
	// ErrReplayOwner: strict replay by another owner than the stored one.
	ErrReplayOwner = errors.New("the aggregate is replayed by another owner")
	// ErrTooLarge: a batch or an event exceeds a limit.
	ErrTooLarge = errors.New("the batch is too large")
	// ErrFull: the disk is full; nothing was written and the log goes on.
	ErrFull = errors.New("the disk is full")
	// ErrFailed: the log could not make a commit durable and accepts nothing more.
	// Whether the batches it was answered for were written is known only when the
	// log was opened anew; they are there whole or not at all.
	ErrFailed = errors.New("the log has failed and must be opened anew")
	// ErrClosed: the log is closed.
	ErrClosed = errors.New("the log is closed")
	// ErrNotFound: no such row, blob or key.
	ErrNotFound = errors.New("not found")
	// ErrCorrupt: stored bytes do not have their digest.
	ErrCorrupt = errors.New("the stored value is corrupt")
)

// RejectedError is an append that a projection refused. Unwrap gives the
// projection's own error.
type RejectedError struct {
	Aggregate string
	Type      string
	Err       error
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("%s of %s was rejected: %v", e.Type, e.Aggregate, e.Err)
}

func (e *RejectedError) Unwrap() error { return e.Err }

// ReplayError is a replay that does not fit the log it meets.
type ReplayError struct {
	Aggregate string
	Seq       int64
	Reason    string
}

func (e *ReplayError) Error() string {
	return fmt.Sprintf("replay of %s at sequence %d: %s", e.Aggregate, e.Seq, e.Reason)
}
