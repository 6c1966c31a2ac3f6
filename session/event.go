package session

import "encoding/json"

// Payload is the data of one kind of event. The set is closed: every kind is in
// this file, and docs/reference/events.md lists them.
type Payload interface {
	// EventType is the type's name, for example "session.prompt.admitted".
	EventType() string
}

// Created begins a session.
type Created struct {
	Title    string   `json:"title,omitempty"`
	Location Location `json:"location"`
	Agent    string   `json:"agent"`
	Model    ModelRef `json:"model"`
}

// PromptAdmitted: a prompt was accepted. Nothing has run and no model has seen it.
type PromptAdmitted struct {
	Message  string   `json:"message"`
	Prompt   Prompt   `json:"prompt"`
	Delivery Delivery `json:"delivery"`
	// Wake: the admission asks for execution.
	Wake bool `json:"wake"`
}

// PromptWoken: an exact retry asked for the execution of a prompt that was
// admitted without.
type PromptWoken struct {
	Message string `json:"message"`
}

// PromptPromoted: an admitted prompt became visible history at a safe boundary.
type PromptPromoted struct {
	Message string `json:"message"`
	Prompt  Prompt `json:"prompt"`
	// Created is the time of the admission, milliseconds since 1970 UTC.
	Created int64 `json:"created"`
}

// InterruptRequested: its sequence is the boundary; wakes of earlier admissions
// are suppressed.
type InterruptRequested struct{}

// ActivityStarted: the runner began to work on what opened it.
type ActivityStarted struct {
	Activity string `json:"activity"`
	Opener   Opener `json:"opener"`
}

// Opener is what an activity was opened by.
type Opener string

// The openers.
const (
	OpenedByPrompt Opener = "prompt"
	OpenedByResume Opener = "resume"
)

// ActivityEnded: the activity is over.
type ActivityEnded struct {
	Activity string   `json:"activity"`
	Outcome  Outcome  `json:"outcome"`
	Error    *Failure `json:"error,omitempty"`
}

// Outcome is how an activity ended.
type Outcome string

// The outcomes. Halted: a person declined.
const (
	Completed   Outcome = "completed"
	Failed      Outcome = "failed"
	Interrupted Outcome = "interrupted"
	Halted      Outcome = "halted"
)

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
}

// TurnStarted: a provider request is about to be made.
type TurnStarted struct {
	Activity string   `json:"activity"`
	Turn     int      `json:"turn"` // 1-based within the activity
	Agent    string   `json:"agent"`
	Model    ModelRef `json:"model"`
	Pins     []Pin    `json:"pins,omitempty"`
	// Digest is the SHA-256 of the neutral request, as hex.
	Digest string `json:"digest"`
}

// Pin is one plugin revision that a turn uses.
type Pin struct {
	Scope    string `json:"scope"`
	Location string `json:"location,omitempty"`
	Revision string `json:"revision,omitempty"`
}

// StepStarted: the model gave its first output; the assistant message exists.
type StepStarted struct {
	Message string   `json:"message"`
	Agent   string   `json:"agent"`
	Model   ModelRef `json:"model"`
}

// TextEnded carries a whole text part.
type TextEnded struct {
	Message string `json:"message"`
	Part    string `json:"part"`
	Text    string `json:"text"`
}

// ReasoningEnded carries a whole reasoning part.
type ReasoningEnded struct {
	Message  string          `json:"message"`
	Part     string          `json:"part"`
	Text     string          `json:"text"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// ToolCalled: the model asked for a tool; it starts after this is durable.
type ToolCalled struct {
	Message string `json:"message"`
	Call    string `json:"call"`
	Name    string `json:"name"`
	// Input is the arguments: as the model wrote them when they are JSON, else the
	// text as a JSON string.
	Input    json.RawMessage `json:"input"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// ToolSucceeded settles a call.
type ToolSucceeded struct {
	Message    string          `json:"message"`
	Call       string          `json:"call"`
	Content    []ToolContent   `json:"content,omitempty"`
	Structured json.RawMessage `json:"structured,omitempty"`
	Title      string          `json:"title,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	Revision   string          `json:"revision,omitempty"`
}

// ToolFailed settles a call.
type ToolFailed struct {
	Message  string    `json:"message"`
	Call     string    `json:"call"`
	Error    ToolError `json:"error"`
	Revision string    `json:"revision,omitempty"`
}

// StepEnded: the model's answer is whole and its tools have settled.
type StepEnded struct {
	Message string       `json:"message"`
	Finish  FinishReason `json:"finish"`
	Usage   Usage        `json:"usage"`
}

// StepFailed: the model's answer broke off.
type StepFailed struct {
	Message string  `json:"message"`
	Error   Failure `json:"error"`
}

// PermissionAsked waits for a person. It stays open until it is answered.
type PermissionAsked struct {
	Request string            `json:"request"`
	Message string            `json:"message,omitempty"`
	Call    string            `json:"call,omitempty"`
	Agent   string            `json:"agent"`
	Ask     PermissionRequest `json:"ask"`
}

// PermissionReplied answers it.
type PermissionReplied struct {
	Request  string `json:"request"`
	Reply    Reply  `json:"reply"`
	Feedback string `json:"feedback,omitempty"`
}

// EventType names the kind.
func (Created) EventType() string            { return "session.created" }
func (PromptAdmitted) EventType() string     { return "session.prompt.admitted" }
func (PromptWoken) EventType() string        { return "session.prompt.woken" }
func (PromptPromoted) EventType() string     { return "session.prompt.promoted" }
func (InterruptRequested) EventType() string { return "session.interrupt.requested" }
func (ActivityStarted) EventType() string    { return "session.activity.started" }
func (ActivityEnded) EventType() string      { return "session.activity.ended" }
func (ContextInitialized) EventType() string { return "session.context.initialized" }
func (ContextReplaced) EventType() string    { return "session.context.replaced" }
func (ContextUpdated) EventType() string     { return "session.context.updated" }
func (TurnStarted) EventType() string        { return "session.turn.started" }
func (StepStarted) EventType() string        { return "session.step.started" }
func (TextEnded) EventType() string          { return "session.text.ended" }
func (ReasoningEnded) EventType() string     { return "session.reasoning.ended" }
func (ToolCalled) EventType() string         { return "session.tool.called" }
func (ToolSucceeded) EventType() string      { return "session.tool.success" }
func (ToolFailed) EventType() string         { return "session.tool.failed" }
func (StepEnded) EventType() string          { return "session.step.ended" }
func (StepFailed) EventType() string         { return "session.step.failed" }
func (PermissionAsked) EventType() string    { return "session.permission.asked" }
func (PermissionReplied) EventType() string  { return "session.permission.replied" }
