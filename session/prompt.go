package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Prompt is the whole body of a prompt. Its canonical JSON defines what an exact
// retry is, so every field a prompt will ever have is here.
type Prompt struct {
	Text       string          `json:"text"`
	Files      []PromptFile    `json:"files,omitempty"`
	Agents     []PromptAgent   `json:"agents,omitempty"`
	References []PromptRef     `json:"references,omitempty"`
	Agent      string          `json:"agent,omitempty"`
	Model      *ModelRef       `json:"model,omitempty"`
	Variant    string          `json:"variant,omitempty"`
	System     string          `json:"system,omitempty"`
	Tools      map[string]bool `json:"tools,omitempty"`
	Format     json.RawMessage `json:"format,omitempty"` // JSON Schema
	Metadata   json.RawMessage `json:"metadata,omitempty"`
}

// PromptFile is an attachment: a blob, or a path that is expanded before admission.
type PromptFile struct {
	Blob   string        `json:"blob,omitempty"`
	Path   string        `json:"path,omitempty"`
	Mime   string        `json:"mime,omitempty"`
	Name   string        `json:"name,omitempty"`
	Source *PromptSource `json:"source,omitempty"`
}

// PromptAgent mentions an agent.
type PromptAgent struct {
	Name   string        `json:"name"`
	Source *PromptSource `json:"source,omitempty"`
}

// PromptRef mentions a configured reference.
type PromptRef struct {
	Name   string        `json:"name"`
	Source *PromptSource `json:"source,omitempty"`
}

// PromptSource is where in Text something was mentioned, in bytes.
type PromptSource struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text"`
}

// MaxPromptBytes bounds the encoded body of a prompt.
const MaxPromptBytes = 1 << 20

// Delivery says when a prompt joins.
type Delivery string

// Steer joins at the next boundary of the running activity; Queue waits for an
// activity of its own.
const (
	Steer Delivery = "steer"
	Queue Delivery = "queue"
)

// check refuses what cannot be admitted. This version has no expansion,
// attachments, tool overrides or structured output, and says so at the door
// rather than dropping them.
func (p *Prompt) check() error {
	if p.Text == "" {
		return fmt.Errorf("%w: prompt.text is empty", ErrInvalid)
	}
	if !utf8.ValidString(p.Text) {
		return fmt.Errorf("%w: prompt.text is not valid UTF-8", ErrInvalid)
	}
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"files", len(p.Files) > 0}, {"agents", len(p.Agents) > 0}, {"references", len(p.References) > 0},
		{"variant", p.Variant != ""}, {"tools", len(p.Tools) > 0}, {"format", len(p.Format) > 0},
	} {
		if field.set {
			return fmt.Errorf("%w: prompt.%s is not supported by this version; leave it out", ErrInvalid, field.name)
		}
	}
	if p.Model != nil && (p.Model.Provider == "" || p.Model.Model == "") {
		return fmt.Errorf("%w: prompt.model needs provider and model", ErrInvalid)
	}
	return nil
}

// ModelRef answers the model that the prompt chooses, nil for none. A variant alone
// is of the session's model and chooses none.
func (p *Prompt) ModelRef() *ModelRef {
	if p.Model == nil {
		return nil
	}
	model := *p.Model
	if p.Variant != "" {
		model.Variant = p.Variant
	}
	return &model
}

// Canonical answers the JSON by which two prompts are compared: keys sorted,
// numbers as written, no white space.
func (p *Prompt) Canonical() ([]byte, error) {
	encoded, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("%w: prompt: %w", ErrInvalid, err)
	}
	if len(encoded) > MaxPromptBytes {
		return nil, fmt.Errorf("%w: the prompt has %d bytes, the limit is %d", ErrInvalid, len(encoded), MaxPromptBytes)
	}
	return CanonicalJSON(encoded)
}

// CanonicalJSON answers the value with sorted keys and without white space.
func CanonicalJSON(value []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, fmt.Errorf("%w: more than one JSON value", ErrInvalid)
	}
	return json.Marshal(decoded)
}
