package protocol

import "time"

// MessageType is the kind of a transcript message.
type MessageType string

// The types. MessageSystem is a context update, MessageSynthetic one that the host
// wrote in a person's place, MessageShell a command that a person ran.
const (
	MessageUser       MessageType = "user"
	MessageAssistant  MessageType = "assistant"
	MessageSystem     MessageType = "system"
	MessageSynthetic  MessageType = "synthetic"
	MessageAgent      MessageType = "agent_switched"
	MessageModel      MessageType = "model_switched"
	MessageShell      MessageType = "shell"
	MessageCompaction MessageType = "compaction"
)

// Message is one message of a session's transcript.
type Message struct {
	ID   string      `json:"id"`
	Type MessageType `json:"type"`
	// Seq is the sequence of the event that made the message: its place.
	Seq     int64     `json:"seq"`
	Created time.Time `json:"created"`

	Prompt *PromptBody `json:"prompt,omitempty"` // of a user message, and of a synthetic one from the inbox
	Text   string      `json:"text,omitempty"`   // of a system or synthetic message; the summary of a compaction

	Description string `json:"description,omitempty"` // of a synthetic message
	Ignored     bool   `json:"ignored,omitempty"`     // the model does not see it

	// Of an assistant message, which is being written while Completed is absent, as
	// is the command of a shell.
	Parts     []Part     `json:"parts,omitempty"`
	Agent     string     `json:"agent,omitempty"` // also of agent_switched
	Model     *ModelRef  `json:"model,omitempty"` // also of model_switched
	Finish    string     `json:"finish,omitempty"`
	Usage     *Usage     `json:"usage,omitempty"`
	CostNano  *int64     `json:"costNano,omitempty"` // nano-dollars; absent when unknown
	Retries   []Retry    `json:"retries,omitempty"`  // before its first output
	Files     []FileDiff `json:"files,omitempty"`    // what its tools changed
	Error     *Failure   `json:"error,omitempty"`
	Completed *time.Time `json:"completed,omitempty"`

	CallID  string `json:"callID,omitempty"` // of a shell, as the next three
	Command string `json:"command,omitempty"`
	Output  string `json:"output,omitempty"`
	Exit    *int   `json:"exit,omitempty"` // absent when a signal ended it

	Reason string `json:"reason,omitempty"` // of a compaction: auto, overflow or manual
}

// FileDiff is one file that a step changed.
type FileDiff struct {
	Path      string `json:"path"`
	Additions int    `json:"additions"` // lines
	Deletions int    `json:"deletions"`
}

// PartType is the kind of a part of an assistant message.
type PartType string

// The part types. Those below PartSubtask are of timelines only.
const (
	PartText       PartType = "text"
	PartReasoning  PartType = "reasoning"
	PartTool       PartType = "tool"
	PartSubtask    PartType = "subtask" // a call opened a child session
	PartFile       PartType = "file"
	PartAgent      PartType = "agent"
	PartReference  PartType = "reference"
	PartRetry      PartType = "retry"
	PartSnapshot   PartType = "snapshot"
	PartPatch      PartType = "patch"
	PartStepStart  PartType = "step_start"
	PartStepFinish PartType = "step_finish"
	PartCompaction PartType = "compaction"
)

// Part is one part of an assistant message; in a timeline also of a prompt. ID is the
// part of a Delta.
type Part struct {
	ID      string    `json:"id"`
	Type    PartType  `json:"type"`
	Text    string    `json:"text,omitempty"`
	Tool    *ToolCall `json:"tool,omitempty"`
	Subtask *Subtask  `json:"subtask,omitempty"`

	File     *File      `json:"file,omitempty"`
	Name     string     `json:"name,omitempty"` // of an agent or a reference
	Retry    *Retry     `json:"retry,omitempty"`
	Snapshot string     `json:"snapshot,omitempty"` // names a state of the files
	Files    []FileDiff `json:"files,omitempty"`    // of a patch
	Finish   string     `json:"finish,omitempty"`   // of step_finish, as the next two
	Usage    *Usage     `json:"usage,omitempty"`
	CostNano *int64     `json:"costNano,omitempty"`
}

// Subtask is a child session that a call opened.
type Subtask struct {
	SessionID   string `json:"sessionID"`
	PromptID    string `json:"promptID"`
	CallID      string `json:"callID"`
	Agent       string `json:"agent"`
	Description string `json:"description,omitempty"`
	Background  bool   `json:"background,omitempty"`
}

// ToolState is where a tool call stands.
type ToolState string

// The states.
const (
	ToolPending   ToolState = "pending" // the model is writing its input
	ToolRunning   ToolState = "running"
	ToolCompleted ToolState = "completed"
	ToolFailed    ToolState = "failed"
)

// ToolCall is a tool part; the part's ID is the call's.
type ToolCall struct {
	Name  string    `json:"name"`
	State ToolState `json:"state"`
	// Input is the arguments as JSON. Of a call that broke off before they were whole
	// it is {} and Partial what had arrived.
	Input   Raw    `json:"input,omitempty"`
	Partial string `json:"partial,omitempty"`
	// Hosted: the provider runs it.
	Hosted     bool       `json:"hosted,omitempty"`
	Title      string     `json:"title,omitempty"`
	Content    []Content  `json:"content,omitempty"`
	Structured Raw        `json:"structured,omitempty"`
	Error      *ToolError `json:"error,omitempty"`
	// Outputs are files that keep the whole of what Content shows in part; Diagnostic
	// says what was lost of it.
	Outputs    []string   `json:"outputs,omitempty"`
	Diagnostic string     `json:"diagnostic,omitempty"`
	Started    *time.Time `json:"started,omitempty"`
	Settled    *time.Time `json:"settled,omitempty"`
	// Pruned is since when the model is sent a note in the place of the result.
	Pruned *time.Time `json:"pruned,omitempty"`
}

// ToolError is why a tool call failed.
type ToolError struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Content is one part of a tool's output.
type Content struct {
	Type string `json:"type"` // "text" or "file"
	Text string `json:"text,omitempty"`
	Mime string `json:"mime,omitempty"`
	Name string `json:"name,omitempty"`
	Blob string `json:"blob,omitempty"`
}

// ListMessages selects messages of a session, in order.
type ListMessages struct {
	// After is the Seq to go on from; absent is the beginning.
	After *int64 `json:"after,omitempty"`
	// Limit is 1 to 200; 50 when 0.
	Limit int `json:"limit,omitempty"`
	// Timeline adds the parts that people look at: the files and mentions of a prompt,
	// the retries, snapshots, start and end of a step.
	Timeline bool `json:"timeline,omitempty"`
}

// MessageList is a page of messages, ordered by Seq.
type MessageList struct {
	Messages []Message `json:"messages"`
	// More is set when messages follow the page.
	More   bool   `json:"more"`
	Cursor string `json:"cursor,omitempty"`
}
