package abi

import "encoding/json"

// ToolExecute is the body of plinth_tool_execute.
type ToolExecute struct {
	Tool string `json:"tool"` // its name in the manifest
	// Input is the model's arguments exactly as it wrote them.
	Input    json.RawMessage `json:"input"`
	Call     ToolCall        `json:"call"`     // which call it is
	Session  Session         `json:"session"`  // that makes it
	Location Location        `json:"location"` // where it works
}

// ToolCall names the call within its assistant message.
type ToolCall struct {
	ID      string `json:"id"`      // within Message
	Message string `json:"message"` // the assistant message that made it
}

// ToolOutput is the ok of plinth_tool_execute.
type ToolOutput struct {
	Content    []Content       `json:"content,omitempty"`    // what the model reads; of its text 2,000 lines and 50 KiB, the rest from a file
	Structured json.RawMessage `json:"structured,omitempty"` // must fit the manifest's output schema when there is one
	Title      string          `json:"title,omitempty"`      // a few words for a person
	Metadata   json.RawMessage `json:"metadata,omitempty"`   // for clients, not for the model
}

// Content is one part of what the model sees: text, or a file.
type Content struct {
	Type string `json:"type"`           // "text" or "file"
	Text string `json:"text,omitempty"` // of a text
	Mime string `json:"mime,omitempty"` // of a file, like image/png; must be there
	Name string `json:"name,omitempty"` // of a file; may be empty
	Data *Bytes `json:"data,omitempty"` // of a file, in the raw bytes; or Blob
	Blob *Blob  `json:"blob,omitempty"` // of a file, given to the guest in the same call
}
