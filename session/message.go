package session

import "encoding/json"

// MessageType is the kind of a transcript message.
type MessageType string

// The message types. MessageSystem is a context update.
const (
	MessageUser      MessageType = "user"
	MessageAssistant MessageType = "assistant"
	MessageSystem    MessageType = "system"
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
	Prompt *Prompt `json:"prompt,omitempty"` // user
	Text   string  `json:"text,omitempty"`   // system

	// Of an assistant. Completed is 0 while it is being written.
	Agent     string       `json:"agent,omitempty"`
	Model     *ModelRef    `json:"model,omitempty"`
	Finish    FinishReason `json:"finish,omitempty"`
	Usage     *Usage       `json:"usage,omitempty"`
	Error     *Failure     `json:"error,omitempty"`
	Completed int64        `json:"completed,omitempty"`
}

// MessagePart is one part of an assistant message.
type MessagePart struct {
	Type     string          `json:"type"` // "text", "reasoning" or "tool"
	ID       string          `json:"id"`   // of a tool: the call's id
	Text     string          `json:"text,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Tool     *ToolPart       `json:"tool,omitempty"`
}

// Types of a message part.
const (
	MessagePartText      = "text"
	MessagePartReasoning = "reasoning"
	MessagePartTool      = "tool"
)

// ToolPart is a tool call with its settlement.
type ToolPart struct {
	Name       string          `json:"name"`
	State      ToolState       `json:"state"`
	Input      json.RawMessage `json:"input"`
	Content    []ToolContent   `json:"content,omitempty"`
	Structured json.RawMessage `json:"structured,omitempty"`
	Title      string          `json:"title,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"` // of the settlement
	Error      *ToolError      `json:"error,omitempty"`
	Revision   string          `json:"revision,omitempty"`
	Started    int64           `json:"started"` // milliseconds since 1970 UTC
	Settled    int64           `json:"settled,omitempty"`
}

// ToolState is where a tool call stands.
type ToolState string

// The states. A call is settled once.
const (
	ToolStateRunning   ToolState = "running"
	ToolStateCompleted ToolState = "completed"
	ToolStateFailed    ToolState = "failed"
)
