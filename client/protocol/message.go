package protocol

import "time"

// MessageType is the kind of a transcript message.
type MessageType string

// The types. MessageSystem is a context update.
const (
	MessageUser      MessageType = "user"
	MessageAssistant MessageType = "assistant"
	MessageSystem    MessageType = "system"
)

// Message is one message of a session's transcript.
type Message struct {
	ID   string      `json:"id"`
	Type MessageType `json:"type"`
	// Seq is the sequence of the event that made the message: its place.
	Seq     int64     `json:"seq"`
	Created time.Time `json:"created"`

	Prompt *PromptBody `json:"prompt,omitempty"` // of a user message
	Text   string      `json:"text,omitempty"`   // of a system message

	// Of an assistant message, which is being written while Completed is absent.
	Parts     []Part     `json:"parts,omitempty"`
	Agent     string     `json:"agent,omitempty"`
	Model     *ModelRef  `json:"model,omitempty"`
	Finish    string     `json:"finish,omitempty"`
	Usage     *Usage     `json:"usage,omitempty"`
	Error     *Failure   `json:"error,omitempty"`
	Completed *time.Time `json:"completed,omitempty"`
}

// PartType is the kind of a part of an assistant message.
type PartType string

// The part types.
const (
	PartText      PartType = "text"
	PartReasoning PartType = "reasoning"
	PartTool      PartType = "tool"
)

// Part is one part of an assistant message. ID is the part of a Delta.
type Part struct {
	ID   string    `json:"id"`
	Type PartType  `json:"type"`
	Text string    `json:"text,omitempty"`
	Tool *ToolCall `json:"tool,omitempty"`
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
	// Input is the arguments as JSON; absent while pending.
	Input      Raw        `json:"input,omitempty"`
	Title      string     `json:"title,omitempty"`
	Content    []Content  `json:"content,omitempty"`
	Structured Raw        `json:"structured,omitempty"`
	Error      *ToolError `json:"error,omitempty"`
	Started    *time.Time `json:"started,omitempty"`
	Settled    *time.Time `json:"settled,omitempty"`
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
}

// MessageList is a page of messages, ordered by Seq.
type MessageList struct {
	Messages []Message `json:"messages"`
	// More is set when messages follow the page.
	More   bool   `json:"more"`
	Cursor string `json:"cursor,omitempty"`
}
