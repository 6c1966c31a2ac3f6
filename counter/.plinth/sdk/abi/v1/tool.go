package abi

import "encoding/json"

// ToolExecute is the body of plinth_tool_execute.
type ToolExecute struct {
	Tool string `json:"tool"`
	// Input is the model's arguments exactly as it wrote them.
	Input    json.RawMessage `json:"input"`
	Call     ToolCall        `json:"call"`
	Session  Session         `json:"session"`
	Location Location        `json:"location"`
}

// ToolCall names the call within its assistant message.
type ToolCall struct {
	ID      string `json:"id"`
	Message string `json:"message"`
}

// ToolOutput is the ok of plinth_tool_execute.
type ToolOutput struct {
	Content    []Content       `json:"content,omitempty"`
	Structured json.RawMessage `json:"structured,omitempty"`
	Title      string          `json:"title,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
}

// Content is one part of what the model sees: text, or a file.
type Content struct {
	Type string `json:"type"` // "text" or "file"
	Text string `json:"text,omitempty"`
	Mime string `json:"mime,omitempty"`
	Name string `json:"name,omitempty"`
	// Data or Blob is the content of a file.
	Data *Bytes `json:"data,omitempty"`
	Blob *Blob  `json:"blob,omitempty"`
}
