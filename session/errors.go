package session

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrBusy: a limit on what may wait is reached; try again later.
	ErrBusy = errors.New("busy")
	// ErrInvalid: the request itself is wrong; the wrapping text says what to change.
	ErrInvalid = errors.New("invalid request")
	// ErrNotFound: no such session, prompt or permission request.
	ErrNotFound = errors.New("not found")
	// ErrResolved: the permission request was answered already.
	ErrResolved = errors.New("already answered")
	// ErrNoSnapshot: the files are not known in that state, or not any more.
	ErrNoSnapshot = errors.New("no such snapshot of the files is kept")
	// ErrMoved: the session has left the place that a turn was made for.
	ErrMoved = errors.New("the session has moved")
	// ErrInterrupted is the cause of a drain that was interrupted by a request.
	ErrInterrupted = errors.New("interrupted")
	// ErrShutdown is the cause of a drain that ended because the host shuts down.
	ErrShutdown = errors.New("the host is shutting down")
)

// ConflictError is an id that stands for something else already, or for something
// that cannot be changed any more.
type ConflictError struct {
	ID     string // of a message or a session
	Reason string // what it stands for; with Fix, what became of it
	// Fix is what to do; empty when a new id does.
	Fix string
}

func (e *ConflictError) Error() string {
	if e.Fix != "" {
		return fmt.Sprintf("%s %s; %s", e.ID, e.Reason, e.Fix)
	}
	return fmt.Sprintf("the id %s stands for %s already; use a new id, or repeat the first request exactly", e.ID, e.Reason)
}

// BlockedError is a context epoch that cannot begin because required sources are
// unavailable. The prompt stays pending.
type BlockedError struct {
	Keys []string
}

func (e *BlockedError) Error() string {
	return "the context sources " + strings.Join(e.Keys, ", ") +
		" cannot be read, so the session has no context to start with; the prompt stays pending and is tried again with the next one or a resume"
}

// whatNow is what to do when a table has what cannot be read: the log is apart from it.
const whatNow = "plinth events still shows the session's events: go on in a new session, or restore a backup"

// MessageDecodeError is a stored message that this program cannot read.
type MessageDecodeError struct {
	Message string // its id
	Err     error
}

func (e *MessageDecodeError) Error() string {
	return fmt.Sprintf("the stored message %s cannot be read: %v; %s", e.Message, e.Err, whatNow)
}

func (e *MessageDecodeError) Unwrap() error { return e.Err }

// SnapshotDecodeError is a stored context snapshot that this program cannot read.
type SnapshotDecodeError struct {
	Session string
	Err     error
}

func (e *SnapshotDecodeError) Error() string {
	return fmt.Sprintf("the context snapshot of session %s cannot be read: %v; %s", e.Session, e.Err, whatNow)
}

func (e *SnapshotDecodeError) Unwrap() error { return e.Err }

// Failure is an error as events keep it.
type Failure struct {
	// Code is one of the Failure constants, or a provider class.
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status,omitempty"`
	// Retryable: the same request may succeed later.
	Retryable bool `json:"retryable,omitempty"`
}

func (f *Failure) Error() string { return f.Message }

// Codes of a Failure beside the provider classes.
const (
	FailureContextBlocked   = "context_blocked"
	FailureModelUnavailable = "model_unavailable"
	FailureAgentUnavailable = "agent_unavailable"
	FailureTransform        = "transform"
	FailureMaxTurns         = "max_turns"
	FailureBudget           = "budget"
	FailureFormat           = "structured_output"
	FailureRecovery         = "recovery"
	FailureCompaction       = "compaction"
	FailureUndecodable      = "undecodable"
	FailureInterrupted      = "interrupted"
	FailureShutdown         = "shutdown"
	FailureDeclined         = "declined"
	FailureRevert           = "revert"
	FailureInternal         = "internal"
)
