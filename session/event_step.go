package session

import "encoding/json"

// StepStarted: the model gave its first output; the assistant message exists.
type StepStarted struct {
	Message string   `json:"message"`
	Agent   string   `json:"agent"`
	Model   ModelRef `json:"model"`
	// Snapshot names the state of the files before the step; empty for none.
	Snapshot string `json:"snapshot,omitempty"`
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

// ToolInputEnded keeps the arguments of a call that broke off before they were
// whole: the call is pending and fails.
type ToolInputEnded struct {
	Message string `json:"message"`
	Call    string `json:"call"`
	Name    string `json:"name"`
	Text    string `json:"text"`
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
	// Hosted: the provider runs it, not this host.
	Hosted bool `json:"hosted,omitempty"`
	// Revision is of the tool that was offered; the call belongs to it.
	Revision string `json:"revision,omitempty"`
}

// ToolSucceeded settles a call.
type ToolSucceeded struct {
	Message    string          `json:"message"`
	Call       string          `json:"call"`
	Content    []ToolContent   `json:"content,omitempty"`
	Structured json.RawMessage `json:"structured,omitempty"`
	Title      string          `json:"title,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	// Result is a hosted tool's own, as the provider wants it back.
	Result json.RawMessage `json:"result,omitempty"`
	// Outputs are the files that keep the whole of what Content shows in part.
	Outputs []string `json:"outputs,omitempty"`
	// Diagnostic says what was lost when the whole could not be kept.
	Diagnostic string `json:"diagnostic,omitempty"`
	Revision   string `json:"revision,omitempty"`
}

// ToolFailed settles a call.
type ToolFailed struct {
	Message  string          `json:"message"`
	Call     string          `json:"call"`
	Error    ToolError       `json:"error"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"` // of a hosted tool
	Revision string          `json:"revision,omitempty"`
}

// TaskStarted: a call of this session opened a child session.
type TaskStarted struct {
	Message     string `json:"message"`
	Call        string `json:"call"`
	Session     string `json:"session"` // the child
	Prompt      string `json:"prompt"`  // id of the prompt in the child's inbox
	Agent       string `json:"agent"`
	Description string `json:"description"`
	Background  bool   `json:"background,omitempty"`
}

// TaskEnded: the child is done with what the call asked of it.
type TaskEnded struct {
	Session string  `json:"session"`
	Prompt  string  `json:"prompt"`
	Outcome Outcome `json:"outcome"`
}

// StepEnded: the model's answer is whole and its tools have settled.
type StepEnded struct {
	Message string       `json:"message"`
	Finish  FinishReason `json:"finish"`
	// Usage is nil when the provider told none.
	Usage *Usage `json:"usage,omitempty"`
	// Cost in nano-dollars; nil when it is unknown.
	Cost     *int64     `json:"cost,omitempty"`
	Snapshot string     `json:"snapshot,omitempty"` // of the files after the step
	Files    []FileDiff `json:"files,omitempty"`    // what changed between the two, at most MaxFileDiffs
}

// StepFailed: the model's answer broke off.
type StepFailed struct {
	Message string  `json:"message"`
	Error   Failure `json:"error"`
	Usage   *Usage  `json:"usage,omitempty"`
	Cost    *int64  `json:"cost,omitempty"`
	// Snapshot is of the files after the step, Files what its calls changed; empty when
	// it made none.
	Snapshot string     `json:"snapshot,omitempty"`
	Files    []FileDiff `json:"files,omitempty"`
}

// MaxFileDiffs bounds the files that one event lists.
const MaxFileDiffs = 1000

// FileDiff is one file that a step changed.
type FileDiff struct {
	Path      string `json:"path"`
	Additions int    `json:"additions"` // lines
	Deletions int    `json:"deletions"`
}

// EventType names the kind.
func (StepStarted) EventType() string    { return "session.step.started" }
func (TextEnded) EventType() string      { return "session.text.ended" }
func (ReasoningEnded) EventType() string { return "session.reasoning.ended" }
func (ToolInputEnded) EventType() string { return "session.tool.input.ended" }
func (ToolCalled) EventType() string     { return "session.tool.called" }
func (ToolSucceeded) EventType() string  { return "session.tool.success" }
func (ToolFailed) EventType() string     { return "session.tool.failed" }
func (TaskStarted) EventType() string    { return "session.task.started" }
func (TaskEnded) EventType() string      { return "session.task.ended" }
func (StepEnded) EventType() string      { return "session.step.ended" }
func (StepFailed) EventType() string     { return "session.step.failed" }
