package session

import "encoding/json"

// MessageType is the kind of a transcript message.
type MessageType string

// The message types. MessageSystem is a context update; a synthetic one is read by
// the model as a user's.
const (
	MessageUser       MessageType = "user"
	MessageSynthetic  MessageType = "synthetic"
	MessageAssistant  MessageType = "assistant"
	MessageSystem     MessageType = "system"
	MessageAgent      MessageType = "agent_switched"
	MessageModel      MessageType = "model_switched"
	MessageShell      MessageType = "shell"
	MessageCompaction MessageType = "compaction"
)

// Message is one message of the transcript.
type Message struct {
	ID string `json:"id"`
	// Seq is the sequence of the event that made the message: its place in time.
	Seq     int64       `json:"seq"`
	Type    MessageType `json:"type"`
	Created int64       `json:"created"` // milliseconds since 1970 UTC
	MessageBody
	Parts []MessagePart `json:"parts,omitempty"` // of an assistant, in order
}

// MessageBody is what a message holds by its type.
type MessageBody struct {
	Prompt *Prompt `json:"prompt,omitempty"` // user and synthetic
	Text   string  `json:"text,omitempty"`   // synthetic without a prompt, system, and the summary of a compaction

	Description string `json:"description,omitempty"` // synthetic
	Ignored     bool   `json:"ignored,omitempty"`     // synthetic: the model does not see it
	Reminder    bool   `json:"reminder,omitempty"`    // system: the host said it here; no update of an epoch

	Agent string    `json:"agent,omitempty"` // assistant, agent_switched
	Model *ModelRef `json:"model,omitempty"` // assistant, model_switched

	// Of an assistant. Completed is 0 while it is being written.
	Finish  FinishReason `json:"finish,omitempty"`
	Usage   *Usage       `json:"usage,omitempty"`
	Cost    *int64       `json:"cost,omitempty"` // nano-dollars; nil when unknown
	Error   *Failure     `json:"error,omitempty"`
	Retries []Retry      `json:"retries,omitempty"` // before its first output
	Before  string       `json:"before,omitempty"`  // snapshot of the files
	After   string       `json:"after,omitempty"`   // snapshot of the files
	Files   []FileDiff   `json:"files,omitempty"`   // what changed between the two
	// Completed is also a shell's; milliseconds since 1970 UTC.
	Completed int64 `json:"completed,omitempty"`

	Call    string `json:"call,omitempty"` // shell
	Command string `json:"command,omitempty"`
	Output  string `json:"output,omitempty"`
	Exit    *int   `json:"exit,omitempty"`

	Reason   CompactionReason `json:"reason,omitempty"` // compaction
	Boundary int64            `json:"boundary,omitempty"`
	Kept     []string         `json:"kept,omitempty"`
}

// Retry is one attempt that failed before any output, and when the next was due.
type Retry struct {
	Attempt int     `json:"attempt"` // the one that followed, from 2
	At      int64   `json:"at"`      // milliseconds since 1970 UTC
	Error   Failure `json:"error"`
}

// MessagePart is one part of an assistant message.
type MessagePart struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"` // of a tool: the call's id
	Text     string          `json:"text,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Tool     *ToolPart       `json:"tool,omitempty"`

	// The rest is of parts that Timeline derives.
	Synthetic bool         `json:"synthetic,omitempty"`
	Ignored   bool         `json:"ignored,omitempty"`
	File      *PromptFile  `json:"file,omitempty"`
	Name      string       `json:"name,omitempty"` // of an agent or a reference
	Retry     *Retry       `json:"retry,omitempty"`
	Snapshot  string       `json:"snapshot,omitempty"`
	Files     []FileDiff   `json:"files,omitempty"`
	Finish    FinishReason `json:"finish,omitempty"`
	Usage     *Usage       `json:"usage,omitempty"`
	Cost      *int64       `json:"cost,omitempty"`
	Subtask   *TaskStarted `json:"subtask,omitempty"`
}

// Types of a message part. Text, reasoning, tool and subtask are stored; the others
// are derived from the message.
const (
	MessagePartText       = "text"
	MessagePartReasoning  = "reasoning"
	MessagePartTool       = "tool"
	MessagePartSubtask    = "subtask"
	MessagePartFile       = "file"
	MessagePartAgent      = "agent"
	MessagePartReference  = "reference"
	MessagePartRetry      = "retry"
	MessagePartSnapshot   = "snapshot"
	MessagePartPatch      = "patch"
	MessagePartStepStart  = "step_start"
	MessagePartStepFinish = "step_finish"
	MessagePartCompaction = "compaction"
)

// ToolPart is a tool call with its settlement.
type ToolPart struct {
	Name  string    `json:"name"`
	State ToolState `json:"state"`
	// Input is what the tool was called with; of a call that stayed pending it is {}.
	Input json.RawMessage `json:"input"`
	// Raw is what arrived of the arguments of a call that stayed pending.
	Raw        string          `json:"raw,omitempty"`
	Hosted     bool            `json:"hosted,omitempty"`
	Content    []ToolContent   `json:"content,omitempty"`
	Structured json.RawMessage `json:"structured,omitempty"`
	Title      string          `json:"title,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"` // of the settlement
	Error      *ToolError      `json:"error,omitempty"`
	// Result is a hosted tool's own, as the provider wants it back.
	Result     json.RawMessage `json:"result,omitempty"`
	Outputs    []string        `json:"outputs,omitempty"`    // files with the whole of Content
	Diagnostic string          `json:"diagnostic,omitempty"` // what was lost of it
	Revision   string          `json:"revision,omitempty"`
	Started    int64           `json:"started"` // milliseconds since 1970 UTC
	Settled    int64           `json:"settled,omitempty"`
	// Pruned is when the model was last sent the result; 0 while it still is.
	Pruned int64 `json:"pruned,omitempty"`
}

// ToolState is where a tool call stands.
type ToolState string

// The states. A call is settled once.
const (
	ToolStatePending   ToolState = "pending"
	ToolStateRunning   ToolState = "running"
	ToolStateCompleted ToolState = "completed"
	ToolStateFailed    ToolState = "failed"
)

// Unsettled reports whether the call has no settlement yet.
func (t *ToolPart) Unsettled() bool {
	return t.State == ToolStatePending || t.State == ToolStateRunning
}

// Timeline answers the parts as people look at them: what was stored, and around it
// the files and mentions of a prompt, and the retries, snapshots, start and end of a
// step.
func (m Message) Timeline() []MessagePart {
	switch m.Type {
	case MessageUser, MessageSynthetic:
		return m.promptParts()
	case MessageCompaction:
		return []MessagePart{{Type: MessagePartCompaction, ID: m.ID, Text: m.Text}}
	case MessageAssistant:
		return m.stepParts()
	}
	return m.Parts
}

func (m Message) promptParts() []MessagePart {
	synthetic := m.Type == MessageSynthetic
	if m.Prompt == nil {
		return []MessagePart{{Type: MessagePartText, ID: m.ID, Text: m.Text, Synthetic: synthetic, Ignored: m.Ignored}}
	}
	parts := []MessagePart{{Type: MessagePartText, ID: m.ID, Text: m.Prompt.Text, Synthetic: synthetic}}
	for i := range m.Prompt.Files {
		parts = append(parts, MessagePart{Type: MessagePartFile, File: &m.Prompt.Files[i]})
	}
	for _, agent := range m.Prompt.Agents {
		parts = append(parts, MessagePart{Type: MessagePartAgent, Name: agent.Name})
	}
	for _, reference := range m.Prompt.References {
		parts = append(parts, MessagePart{Type: MessagePartReference, Name: reference.Name})
	}
	return parts
}

func (m Message) stepParts() []MessagePart {
	parts := []MessagePart{{Type: MessagePartStepStart, Snapshot: m.Before}}
	for i := range m.Retries {
		parts = append(parts, MessagePart{Type: MessagePartRetry, Retry: &m.Retries[i]})
	}
	parts = append(parts, m.Parts...)
	if m.After != "" {
		parts = append(parts, MessagePart{Type: MessagePartSnapshot, Snapshot: m.After})
	}
	if len(m.Files) > 0 {
		parts = append(parts, MessagePart{Type: MessagePartPatch, Snapshot: m.After, Files: m.Files})
	}
	if m.Completed != 0 && m.Error == nil {
		parts = append(parts, MessagePart{Type: MessagePartStepFinish, Finish: m.Finish, Usage: m.Usage, Cost: m.Cost, Snapshot: m.After})
	}
	return parts
}
