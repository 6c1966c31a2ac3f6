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
	// Slug is a name for people. It need not be unique.
	Slug string `json:"slug,omitempty"`
	// Archived is when it was put out of sight; absent while it is not.
	Archived *time.Time `json:"archived,omitempty"`
	// Parent is the session whose call made this one.
	Parent string `json:"parent,omitempty"`
	// Fork is where it left another session.
	Fork *Fork `json:"fork,omitempty"`
	// Retention is how much of its history is kept; absent where the operator's holds.
	Retention *Retention `json:"retention,omitempty"`
	// Activity is what the session works on; absent while it is idle.
	Activity *Activity `json:"activity,omitempty"`
	// Usage is what the session and its children have used.
	Usage *Usage `json:"usage,omitempty"`
	// Rules and Budgets are the session's own, beside the operator's.
	Rules   []Rule   `json:"rules,omitempty"`
	Budgets []Budget `json:"budgets,omitempty"`
	// Revert is staged: the messages from its own on go with the next prompt.
	Revert *Revert `json:"revert,omitempty"`
	// Unrestored are paths that the newest revert could not restore, or the clearing of
	// it, now that none is staged any more.
	Unrestored []string `json:"unrestored,omitempty"`
	// Changes are what the session has changed in its files; absent when nothing is known.
	Changes *Changes `json:"changes,omitempty"`
	// Cursor is the place the answer was read at.
	Cursor string `json:"cursor,omitempty"`
}

// Fork is where a session left another one: MessageID is the last message that both
// have, Seq its sequence in the other.
type Fork struct {
	SessionID string `json:"sessionID"`
	MessageID string `json:"messageID,omitempty"`
	Seq       int64  `json:"seq"`
}

// Retention is how much of a session's history is kept beside what its model is sent.
type Retention struct {
	// Keep is "all", "compaction" (what came since the last one) or "days".
	Keep string `json:"keep"`
	// Days go with "days": 1 to 36500.
	Days int `json:"days,omitempty"`
}

// Activity is work that has not ended.
type Activity struct {
	ID    string        `json:"id"`
	State ActivityState `json:"state"`
	// Reason is why it is suspended; absent while it runs.
	Reason SuspendReason `json:"reason,omitempty"`
	// Turns counts the provider turns so far.
	Turns int `json:"turns"`
	// Retry is set while the provider is tried again.
	Retry *Retry `json:"retry,omitempty"`
}

// ActivityState is where an activity stands.
type ActivityState string

// The states. Nobody works on a suspended one, and it has not ended.
const (
	ActivityRunning   ActivityState = "running"
	ActivitySuspended ActivityState = "suspended"
)

// SuspendReason is why an activity is suspended, and so what makes it go on.
type SuspendReason string

// The reasons. After a shutdown or a crash it goes on by itself; the others wait for a
// person: for the answer to what a call asked, or for the decision whether it goes on.
const (
	SuspendedByShutdown SuspendReason = "shutdown"
	SuspendedByCrash    SuspendReason = "crash"
	SuspendedByAsk      SuspendReason = "ask"
	SuspendedByDoubt    SuspendReason = "doubt"
)

// Retry is an attempt that failed before any output, and the one after it.
type Retry struct {
	// Attempt counts from 2; Time is when it is, or was, due.
	Attempt int       `json:"attempt"`
	Time    time.Time `json:"time"`
	Error   *Failure  `json:"error,omitempty"`
}

// Rule allows, denies or asks for an action on a resource; both are patterns.
type Rule struct {
	Action   string `json:"action"`
	Resource string `json:"resource"`
	Effect   Effect `json:"effect"`
}

// Effect is what a rule does.
type Effect string

// The effects.
const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
	Ask   Effect = "ask"
)

// Budget is a rule on what may be spent. A limit of 0 is none.
type Budget struct {
	Tokens   int64 `json:"tokens,omitempty"`   // input and output
	CostNano int64 `json:"costNano,omitempty"` // nano-dollars
	Turns    int64 `json:"turns,omitempty"`    // provider turns
	// Per is "session", which counts its children, or "day", of UTC and over all
	// sessions. Action is "stop" or "ask".
	Per    string `json:"per"`
	Action string `json:"action"`
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
	// StatusWaiting: its work waits for a person's answer, or for the decision whether it
	// goes on after a crash.
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
	// Rules need the scope approve.
	Rules   []Rule   `json:"rules,omitempty"`
	Budgets []Budget `json:"budgets,omitempty"`
}

// ChangeSession replaces what a session goes on with from its next turn on. What is
// absent stays.
type ChangeSession struct {
	Agent string    `json:"agent,omitempty"`
	Model *ModelRef `json:"model,omitempty"`
	// Rules need the scope approve: they answer before anybody is asked.
	Rules   *[]Rule   `json:"rules,omitempty"`
	Budgets *[]Budget `json:"budgets,omitempty"`
	// Title is one line of 1 to 200 characters.
	Title *string `json:"title,omitempty"`
	// Archived puts the session out of sight, or back.
	Archived  *bool      `json:"archived,omitempty"`
	Retention *Retention `json:"retention,omitempty"`
}

// ForkSession is the body that makes a session which goes on from a message of another.
// A known ID answers the fork that has it, unchanged.
type ForkSession struct {
	ID string `json:"id,omitempty"`
	// Message is the last one that both have; all of them when empty.
	Message string `json:"message,omitempty"`
	// Title and Location are the other's when absent, the title with "(fork)". A title
	// is one line of 1 to 200 characters.
	Title    *string  `json:"title,omitempty"`
	Location Location `json:"location,omitzero"`
}

// RemovedSessions are the ids that a removal took away: the session's own and those of
// all sessions under it; none when it was done before.
type RemovedSessions struct {
	Sessions []string `json:"sessions"`
}

// PrunedSession says what is left of a session's events.
type PrunedSession struct {
	SessionID string `json:"sessionID"`
	// Pruned is whether anything was taken away.
	Pruned bool `json:"pruned"`
	// First is the lowest sequence that can be read.
	First  int64  `json:"first"`
	Cursor string `json:"cursor,omitempty"`
}

// MoveSession lets a session work elsewhere from its next turn on.
type MoveSession struct {
	Location Location `json:"location"`
}

// SessionUsage is what a session and its children have used and spent.
type SessionUsage struct {
	SessionID string `json:"sessionID"`
	Usage     Usage  `json:"usage"`
	// CostNano is in nano-dollars, of the steps with a price; Unpriced counts the
	// others.
	CostNano int64  `json:"costNano"`
	Unpriced int64  `json:"unpriced,omitempty"`
	Turns    int64  `json:"turns"` // provider turns
	Cursor   string `json:"cursor,omitempty"`
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
	// Archived asks for archived sessions too.
	Archived bool `json:"archived,omitempty"`
	// Slug selects the sessions of that slug, archived or not.
	Slug string `json:"slug,omitempty"`
}

// SessionList is a page of sessions.
type SessionList struct {
	Sessions []Session `json:"sessions"`
	// Next asks for the page after this one; empty at the end.
	Next string `json:"next,omitempty"`
}

// CommandReceipt answers a command on a session: interrupt, resume and compact.
type CommandReceipt struct {
	SessionID string `json:"sessionID"`
	// Seq is the sequence of the event the command is recorded as; absent when it
	// recorded none.
	Seq    *int64 `json:"seq,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}
