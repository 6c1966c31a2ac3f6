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
	// Notes are what the host has to say of the text, to people and to the model.
	Notes []PromptNote `json:"notes,omitempty"`
}

// PromptFile is an attachment. Path is where it was read, as seen from the session's
// directory, with a slash behind a folder; without a blob it is still to be read, which
// is done before admission.
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

// PromptRef mentions a configured reference. Path and Description are what it stood for
// when it was mentioned; without a path nobody has looked it up.
type PromptRef struct {
	Name        string        `json:"name"`
	Path        string        `json:"path,omitempty"` // absolute
	Description string        `json:"description,omitempty"`
	Source      *PromptSource `json:"source,omitempty"`
}

// PromptNote says of a part of the text what became of it.
type PromptNote struct {
	// Kind is what was mentioned: file, agent, reference, shell, or mention for what is
	// none of them.
	Kind string `json:"kind"`
	Text string `json:"text"`
	// Failed: it stands in the text and nothing came of it.
	Failed bool          `json:"failed,omitempty"`
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

// Bounds of a prompt's parts.
const (
	MaxMentions    = 64
	maxNotes       = 128  // one of each mention and each command line
	maxNoteBytes   = 2048 // of one
	maxPromptTools = 256
	maxFormatBytes = 64 << 10
)

func (d Delivery) check() error {
	if d != Steer && d != Queue {
		return fmt.Errorf("%w: delivery is %q; it must be steer or queue", ErrInvalid, clip(string(d)))
	}
	return nil
}

// checked answers the canonical form of a prompt that is well formed.
func (p *Prompt) checked() ([]byte, error) {
	for _, check := range [...]func() error{p.checkText, p.checkMentions, p.checkNotes, p.checkModel, p.checkTools, p.checkFormat} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return p.Canonical()
}

func (p *Prompt) checkText() error {
	if p.Text == "" {
		return fmt.Errorf("%w: prompt.text is empty", ErrInvalid)
	}
	if !utf8.ValidString(p.Text) {
		return fmt.Errorf("%w: prompt.text is not valid UTF-8", ErrInvalid)
	}
	if !utf8.ValidString(p.System) {
		return fmt.Errorf("%w: prompt.system is not valid UTF-8", ErrInvalid)
	}
	for i, file := range p.Files {
		if err := file.Source.check(fmt.Sprintf("prompt.files[%d]", i), p.Text); err != nil {
			return err
		}
	}
	return nil
}

func (p *Prompt) checkMentions() error {
	if n := len(p.Agents) + len(p.References); n > MaxMentions {
		return fmt.Errorf("%w: prompt.agents and prompt.references have %d mentions, the limit is %d", ErrInvalid, n, MaxMentions)
	}
	for i, agent := range p.Agents {
		if err := checkMention(fmt.Sprintf("prompt.agents[%d]", i), agent.Name, agent.Source, p.Text); err != nil {
			return err
		}
	}
	for i, reference := range p.References {
		field := fmt.Sprintf("prompt.references[%d]", i)
		if err := checkMention(field, reference.Name, reference.Source, p.Text); err != nil {
			return err
		}
		if len(reference.Path)+len(reference.Description) > maxNoteBytes || !utf8.ValidString(reference.Path+reference.Description) {
			return fmt.Errorf("%w: %s: path and description must be UTF-8 of at most %d bytes together", ErrInvalid, field, maxNoteBytes)
		}
	}
	return nil
}

func (p *Prompt) checkNotes() error {
	if len(p.Notes) > maxNotes {
		return fmt.Errorf("%w: prompt.notes has %d entries, the limit is %d", ErrInvalid, len(p.Notes), maxNotes)
	}
	for i, note := range p.Notes {
		field := fmt.Sprintf("prompt.notes[%d]", i)
		if err := checkMention(field, note.Kind, note.Source, p.Text); err != nil {
			return err
		}
		if note.Text == "" || len(note.Text) > maxNoteBytes || !utf8.ValidString(note.Text) {
			return fmt.Errorf("%w: %s.text has %d bytes; it must be UTF-8 of 1 to %d", ErrInvalid, field, len(note.Text), maxNoteBytes)
		}
	}
	return nil
}

func checkMention(field, name string, source *PromptSource, text string) error {
	if err := checkName(field+".name", name); err != nil {
		return err
	}
	return source.check(field, text)
}

// check holds the place to the text it is in.
func (s *PromptSource) check(field, text string) error {
	switch {
	case s == nil:
		return nil
	case s.Start < 0 || s.End <= s.Start || s.End > len(text):
		return fmt.Errorf("%w: %s.source is %d to %d, which is no part of the %d bytes of prompt.text; count UTF-8 bytes, end exclusive",
			ErrInvalid, field, s.Start, s.End, len(text))
	case text[s.Start:s.End] != s.Text:
		return fmt.Errorf("%w: %s.source.text is %q, and prompt.text has %q from %d to %d; count UTF-8 bytes, end exclusive",
			ErrInvalid, field, clip(s.Text), clip(text[s.Start:s.End]), s.Start, s.End)
	}
	return nil
}

func (p *Prompt) checkModel() error {
	if p.Variant != "" {
		if err := checkName("prompt.variant", p.Variant); err != nil {
			return err
		}
	}
	if p.Model == nil {
		return nil
	}
	return p.Model.check("prompt.model")
}

func (p *Prompt) checkTools() error {
	if len(p.Tools) > maxPromptTools {
		return fmt.Errorf("%w: prompt.tools has %d names, the limit is %d", ErrInvalid, len(p.Tools), maxPromptTools)
	}
	for name := range p.Tools {
		if err := checkName("prompt.tools", name); err != nil {
			return err
		}
	}
	return nil
}

func (p *Prompt) checkFormat() error {
	if len(p.Format) == 0 {
		return nil
	}
	if len(p.Format) > maxFormatBytes {
		return fmt.Errorf("%w: prompt.format has %d bytes, the limit is %d", ErrInvalid, len(p.Format), maxFormatBytes)
	}
	if err := checkFormat(p.Format); err != nil {
		return fmt.Errorf("%w: prompt.format is no JSON Schema that can be used: %w", ErrInvalid, err)
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
