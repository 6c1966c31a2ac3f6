package protocol

import "time"

// Session is one session as lists show it.
type Session struct {
	ID       string    `json:"id"`
	Title    string    `json:"title,omitempty"`
	Agent    string    `json:"agent,omitempty"`
	Model    *ModelRef `json:"model,omitempty"`
	Location Location  `json:"location"`
	Status   Status    `json:"status"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	Usage    *Usage    `json:"usage,omitempty"`
	// Cursor is the place the answer was read at.
	Cursor string `json:"cursor,omitempty"`
}

// Location is where a session works.
type Location struct {
	// Directory is absolute. A client of the unix socket may leave it to the
	// server's default.
	Directory string `json:"directory"`
	// Root is the project's root, Git whether it is a work tree; the server sets
	// both.
	Root string `json:"root,omitempty"`
	Git  bool   `json:"git,omitempty"`
}

// ModelRef names a model: the operator's provider name and the provider's own
// name of the model.
type ModelRef struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Variant  string `json:"variant,omitempty"`
}

// Status is what a session does now.
type Status string

// The statuses.
const (
	StatusIdle    Status = "idle"
	StatusRunning Status = "running"
	// StatusWaiting: it runs and waits for a person's answer.
	StatusWaiting Status = "waiting"
)

// Usage counts tokens. Input and Output are inclusive: Input holds cache reads
// and writes, Output holds reasoning.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	Reasoning  int64 `json:"reasoning,omitempty"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
}

// CreateSession is the body that creates a session. A known ID answers the
// session that has it, unchanged.
type CreateSession struct {
	ID       string    `json:"id,omitempty"`
	Title    string    `json:"title,omitempty"`
	Agent    string    `json:"agent,omitempty"`
	Model    *ModelRef `json:"model,omitempty"`
	Location Location  `json:"location,omitzero"`
}

// ListSessions selects sessions, newest first.
type ListSessions struct {
	// Limit is 1 to 200; 50 when 0.
	Limit int `json:"limit,omitempty"`
	// Cursor is Next of the page before.
	Cursor string `json:"cursor,omitempty"`
	// Directory and Text narrow the list: the location's directory, and a part of
	// the title.
	Directory string `json:"directory,omitempty"`
	Text      string `json:"text,omitempty"`
	Archived  bool   `json:"archived,omitempty"`
}

// SessionList is a page of sessions.
type SessionList struct {
	Sessions []Session `json:"sessions"`
	// Next asks for the page after this one; empty at the end.
	Next string `json:"next,omitempty"`
}

// CommandReceipt answers a command on a session: interrupt and resume.
type CommandReceipt struct {
	SessionID string `json:"sessionID"`
	// Seq is the sequence of the event the command is recorded as; absent when it
	// recorded none.
	Seq    *int64 `json:"seq,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}
