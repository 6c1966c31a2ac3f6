package share

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/plinthhost/plinth/session"
)

// Role is who wrote an entry.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Note      Role = "note"    // of the host
	Shell     Role = "shell"   // a person's command
	Summary   Role = "summary" // of what came before
)

// Entry is one message as people see it.
type Entry struct {
	Role    Role      `json:"role"`
	Created time.Time `json:"created"`
	Agent   string    `json:"agent,omitempty"`
	Model   string    `json:"model,omitempty"`
	Parts   []Part    `json:"parts"`
	Error   string    `json:"error,omitempty"`
}

// Part is one part of an entry.
type Part struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text,omitempty"`

	// Of a tool.
	Tool  string `json:"tool,omitempty"`
	Title string `json:"title,omitempty"`
	State string `json:"state,omitempty"`
	Input string `json:"input,omitempty"`
	Error string `json:"error,omitempty"`

	// Of a file. Data is base64, empty for what is no image or too large.
	Name string `json:"name,omitempty"`
	Mime string `json:"mime,omitempty"`
	Size int64  `json:"bytes,omitempty"`
	Data []byte `json:"data,omitempty"`

	blob string
}

// Kind is what a part is.
type Kind string

// The kinds.
const (
	KindText      Kind = "text"
	KindReasoning Kind = "reasoning"
	KindTool      Kind = "tool"
	KindFile      Kind = "file"
	KindTask      Kind = "task" // of a session below
)

// entry answers the message as people see it, false for one that they do not.
func entry(m session.Message, reasoning bool) (Entry, bool) {
	e := Entry{Created: time.UnixMilli(m.Created).UTC(), Parts: []Part{}}
	text := func(text string) { e.Parts = append(e.Parts, Part{Kind: KindText, Text: text}) }
	switch m.Type {
	case session.MessageUser, session.MessageSynthetic:
		e.Role = User
		if m.Type == session.MessageSynthetic {
			e.Role = Note
		}
		e.prompt(m)
	case session.MessageAssistant:
		e.Role, e.Agent = Assistant, m.Agent
		if m.Model != nil {
			e.Model = m.Model.Provider + "/" + m.Model.Model
		}
		e.answer(m, reasoning)
	case session.MessageShell:
		e.Role = Shell
		e.Parts = append(e.Parts, Part{Kind: KindTool, Tool: "shell", Input: m.Command, Text: m.Output})
	case session.MessageCompaction:
		e.Role = Summary
		text(m.Text)
	case session.MessageAgent:
		e.Role = Note
		text("Goes on as the agent " + m.Agent)
	case session.MessageModel:
		e.Role = Note
		if m.Model != nil {
			text("Goes on with the model " + m.Model.Provider + "/" + m.Model.Model)
		}
	default: // what the host told the model of its surroundings
		return e, false
	}
	return e, true
}

func (e *Entry) prompt(m session.Message) {
	if m.Prompt == nil {
		e.Parts = append(e.Parts, Part{Kind: KindText, Text: m.Text})
		return
	}
	e.Parts = append(e.Parts, Part{Kind: KindText, Text: m.Prompt.Text})
	for _, file := range m.Prompt.Files {
		e.Parts = append(e.Parts, Part{Kind: KindFile, Name: file.Name, Mime: file.Mime, blob: file.Blob})
	}
}

func (e *Entry) answer(m session.Message, reasoning bool) {
	for _, part := range m.Parts {
		switch {
		case part.Type == session.MessagePartText:
			e.Parts = append(e.Parts, Part{Kind: KindText, Text: part.Text})
		case part.Type == session.MessagePartReasoning && reasoning && part.Text != "":
			e.Parts = append(e.Parts, Part{Kind: KindReasoning, Text: part.Text})
		case part.Type == session.MessagePartSubtask && part.Subtask != nil:
			e.Parts = append(e.Parts, Part{Kind: KindTask, Title: part.Subtask.Description, Text: part.Subtask.Agent})
		case part.Tool != nil:
			e.call(part.Tool)
		}
	}
	if m.Error != nil {
		e.Error = m.Error.Message
	}
}

func (e *Entry) call(tool *session.ToolPart) {
	call := Part{Kind: KindTool, Tool: tool.Name, Title: tool.Title, State: string(tool.State), Input: input(tool)}
	if tool.Error != nil {
		call.Error = withoutPaths(tool.Error.Message, tool.Outputs)
	}
	var files []Part
	for _, content := range tool.Content {
		if content.Type == "file" {
			files = append(files, Part{Kind: KindFile, Name: content.Name, Mime: content.Mime, blob: content.Blob})
			continue
		}
		if call.Text != "" {
			call.Text += "\n"
		}
		call.Text += withoutPaths(content.Text, tool.Outputs)
	}
	e.Parts = append(append(e.Parts, call), files...)
}

// withoutPaths takes out where the host keeps the whole of an output.
func withoutPaths(text string, outputs []string) string {
	for _, path := range outputs {
		text = strings.ReplaceAll(text, path, "(kept by the host)")
	}
	return text
}

// input is what a tool was called with, spread out.
func input(tool *session.ToolPart) string {
	if tool.Raw != "" {
		return tool.Raw
	}
	var spread bytes.Buffer
	if json.Indent(&spread, tool.Input, "", "  ") != nil {
		return string(tool.Input)
	}
	return spread.String()
}
