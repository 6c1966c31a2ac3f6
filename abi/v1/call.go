package abi

import "encoding/json"

// Call is every request to an export.
type Call[T any] struct {
	// DeadlineMS is how long the call may take from now, in milliseconds; 0 in plinth_init.
	DeadlineMS int64 `json:"deadline_ms"`
	Meta       Meta  `json:"meta"` // on whose behalf it is made
	Body       T     `json:"body"` // what the export takes
}

// Meta says on whose behalf a call is made. Empty fields do not apply.
type Meta struct {
	Plugin   string `json:"plugin,omitempty"`   // its id
	Revision string `json:"revision,omitempty"` // of the plugin; empty where it has none yet
	Trace    string `json:"trace,omitempty"`    // not set by this minor
}

// Answer is every answer: exactly one of its fields is set.
type Answer[T any] struct {
	OK    *T     `json:"ok,omitempty"`    // what the export or the operation answers
	Error *Error `json:"error,omitempty"` // or why there is none
}

// Error is an answer that is not ok. Message is written for a person and, from a
// tool, for the model.
type Error struct {
	Kind    Kind   `json:"kind"`    // what programs decide by
	Message string `json:"message"` // plain text, without the kind
}

func (e *Error) Error() string { return string(e.Kind) + ": " + e.Message }

// Kind is the closed set of error kinds.
type Kind string

// The kinds.
const (
	KindInvalidInput Kind = "invalid_input" // the input is wrong: no JSON, not of the schema, or not what is wanted
	KindNotFound     Kind = "not_found"     // there is no such thing
	KindDenied       Kind = "denied"        // no grant, no permission, or outside of what may be reached
	KindUnavailable  Kind = "unavailable"   // no such operation here, or what it needs is not there
	KindConflict     Kind = "conflict"      // the thing changed meanwhile
	KindLimit        Kind = "limit"         // a limit was reached; the message says which
	KindCancelled    Kind = "cancelled"     // the call was interrupted
	KindTimeout      Kind = "timeout"       // the time is over
	KindFailed       Kind = "failed"        // anything else
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
	Config     json.RawMessage `json:"config,omitempty"`     // [plugins."OWNER/NAME".config] as JSON; absent without settings
	Minor      int             `json:"minor"`                // the host's minor version of this major
	Operations []string        `json:"operations,omitempty"` // names of those that the host has
}

// None is the ok of an export that answers nothing.
type None struct{}

// Session is the session a call belongs to.
type Session struct {
	ID    string `json:"id"`    // like ses_…
	Agent string `json:"agent"` // the name of the agent it works as
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
