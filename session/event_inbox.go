package session

// PromptAdmitted: a prompt was accepted. Nothing has run and no model has seen it.
type PromptAdmitted struct {
	Message  string   `json:"message"`
	Prompt   Prompt   `json:"prompt"`
	Delivery Delivery `json:"delivery"`
	// Wake: the admission asks for execution.
	Wake bool `json:"wake"`
	// Synthetic: the host wrote it, not a person.
	Synthetic bool `json:"synthetic,omitempty"`
	// Sent is the digest of what the client sent, where Prompt was made of it: that is
	// what an exact retry repeats.
	Sent string `json:"sent,omitempty"`
}

// PromptWoken: an exact retry asked for the execution of a prompt that was
// admitted without.
type PromptWoken struct {
	Message string `json:"message"`
}

// PromptEdited replaces the body of a prompt that waits.
type PromptEdited struct {
	Message string `json:"message"`
	Prompt  Prompt `json:"prompt"`
}

// PromptCancelled takes a prompt that waits out of the inbox for good.
type PromptCancelled struct {
	Message string `json:"message"`
}

// PromptRedelivered moves a prompt that waits between steer and queue.
type PromptRedelivered struct {
	Message  string   `json:"message"`
	Delivery Delivery `json:"delivery"`
}

// PromptReordered puts a prompt that waits before another one that waits; last
// when Before is empty.
type PromptReordered struct {
	Message string `json:"message"`
	Before  string `json:"before,omitempty"`
}

// PromptPromoted: an admitted prompt became visible history at a safe boundary.
type PromptPromoted struct {
	Message string `json:"message"`
	Prompt  Prompt `json:"prompt"`
	// Created is the time of the admission, milliseconds since 1970 UTC.
	Created   int64 `json:"created"`
	Synthetic bool  `json:"synthetic,omitempty"`
}

// EventType names the kind.
func (PromptAdmitted) EventType() string    { return "session.prompt.admitted" }
func (PromptWoken) EventType() string       { return "session.prompt.woken" }
func (PromptEdited) EventType() string      { return "session.prompt.edited" }
func (PromptCancelled) EventType() string   { return "session.prompt.cancelled" }
func (PromptRedelivered) EventType() string { return "session.prompt.redelivered" }
func (PromptReordered) EventType() string   { return "session.prompt.reordered" }
func (PromptPromoted) EventType() string    { return "session.prompt.promoted" }
