package session

import "encoding/json"

// ContextInitialized begins the first context epoch.
type ContextInitialized struct {
	Baseline string   `json:"baseline"`
	Snapshot Snapshot `json:"snapshot"`
}

// ContextReplaced ends an epoch and begins the next.
type ContextReplaced struct {
	Baseline string   `json:"baseline"`
	Snapshot Snapshot `json:"snapshot"`
	Reason   string   `json:"reason"`
}

// ContextUpdated tells the model what changed within the epoch.
type ContextUpdated struct {
	Message string   `json:"message"`
	Text    string   `json:"text"`
	Changed Snapshot `json:"changed,omitempty"`
	Removed []string `json:"removed,omitempty"`
}

// Snapshot holds the admitted value of each context source, by key.
type Snapshot map[string]Admitted

// Admitted is one source's value as last told to the model.
type Admitted struct {
	Value json.RawMessage `json:"value"`
	// Removed is told when the source is gone; empty when it cannot be removed.
	Removed string `json:"removed,omitempty"`
	// Revision is the plugin revision that gave the value.
	Revision string `json:"revision,omitempty"`
	// Bytes is how much of the epoch's baseline tells it; 0 of what an update added.
	Bytes int `json:"bytes,omitempty"`
	// Of a value that an update told: At is when (milliseconds since 1970 UTC), Before the
	// SHA-256 of the canonical value it took the place of, and Flips how many changes in a
	// row returned to the value before.
	At     int64  `json:"at,omitempty"`
	Before string `json:"before,omitempty"`
	Flips  int    `json:"flips,omitempty"`
}

// EventType names the kind.
func (ContextInitialized) EventType() string { return "session.context.initialized" }
func (ContextReplaced) EventType() string    { return "session.context.replaced" }
func (ContextUpdated) EventType() string     { return "session.context.updated" }
