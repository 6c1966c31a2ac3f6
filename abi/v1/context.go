package abi

import "encoding/json"

// ContextObserve is the body of plinth_context_observe.
type ContextObserve struct {
	Session  Session  `json:"session"`  // that is told
	Location Location `json:"location"` // where it works
	// NowMS is the instant of the sample, milliseconds since 1970 UTC.
	NowMS int64 `json:"now_ms"`
	// Model is what the session's next request goes to, PROVIDER/MODEL; empty when there
	// is no such model now.
	Model string `json:"model,omitempty"`
	// Directories are those in which tools of the session read files: paths from the
	// project's root, without the root itself, ascending; at most 256.
	Directories []string `json:"directories,omitempty"`
	// Previous holds the value last admitted, by source key.
	Previous map[string]json.RawMessage `json:"previous,omitempty"`
}

// ContextObserved is its ok: the state of every source, from one sample.
type ContextObserved struct {
	Sources []SourceState `json:"sources"` // one for every key of the manifest, each once
}

// SourceState is one context source as sampled.
type SourceState struct {
	Key   string `json:"key"`   // a key of the manifest
	State string `json:"state"` // "value", "unavailable" or "absent"
	// Value is compared as canonical JSON with the value admitted before.
	Value json.RawMessage `json:"value,omitempty"`
	// Baseline is the full text; never empty for a value.
	Baseline string `json:"baseline,omitempty"`
	// Update is the text told when the value differs from the previous one; the
	// baseline when empty.
	Update string `json:"update,omitempty"`
	// Removed is told when the source is gone later; empty when it cannot be removed.
	Removed string `json:"removed,omitempty"`
}

// States of a source.
const (
	SourceValue       = "value"
	SourceUnavailable = "unavailable"
	SourceAbsent      = "absent"
)
