package abi

import "encoding/json"

// Call is every request to an export.
type Call[T any] struct {
	// DeadlineMS is how long the call may take from now, in milliseconds.
	DeadlineMS int64 `json:"deadline_ms"`
	Meta       Meta  `json:"meta"`
	Body       T     `json:"body"`
}

// Meta says on whose behalf a call is made. Empty fields do not apply.
type Meta struct {
	Plugin   string `json:"plugin,omitempty"`
	Revision string `json:"revision,omitempty"`
	Trace    string `json:"trace,omitempty"`
}

// Answer is every answer: exactly one of its fields is set.
type Answer[T any] struct {
	OK    *T     `json:"ok,omitempty"`
	Error *Error `json:"error,omitempty"`
}

// Error is an answer that is not ok. Message is written for a person and, from a
// tool, for the model.
type Error struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return string(e.Kind) + ": " + e.Message }

// Kind is the closed set of error kinds.
type Kind string

// The kinds.
const (
	KindInvalidInput Kind = "invalid_input"
	KindNotFound     Kind = "not_found"
	KindDenied       Kind = "denied"
	KindUnavailable  Kind = "unavailable"
	KindConflict     Kind = "conflict"
	KindLimit        Kind = "limit"
	KindCancelled    Kind = "cancelled"
	KindTimeout      Kind = "timeout"
	KindFailed       Kind = "failed"
)

// Valid reports whether k is one of the kinds.
func (k Kind) Valid() bool {
	switch k {
	case KindInvalidInput, KindNotFound, KindDenied, KindUnavailable, KindConflict,
		KindLimit, KindCancelled, KindTimeout, KindFailed:
		return true
	}
	return false
}

// Init is the body of plinth_init: the operator's settings and what the host has.
type Init struct {
	Config     json.RawMessage `json:"config,omitempty"`
	Minor      int             `json:"minor"`
	Operations []string        `json:"operations,omitempty"`
}

// None is the ok of an export that answers nothing.
type None struct{}

// Session is the session a call belongs to.
type Session struct {
	ID    string `json:"id"`
	Agent string `json:"agent"`
}

// Location is where the session works.
type Location struct {
	// Directory is the absolute working directory.
	Directory string `json:"directory"`
	// Root is the project's root: Directory or a folder above it.
	Root string `json:"root"`
	// Git is set when Root is a git work tree.
	Git bool `json:"git"`
	// Platform is "linux" or "darwin".
	Platform string `json:"platform"`
	// UTCOffset is the user's offset in minutes east of UTC.
	UTCOffset int `json:"utc_offset"`
}
