package legacy

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plinthhost/plinth/session"
)

func (m *maker) message(old message) error {
	parts, err := m.files.parts(old.ID)
	if err != nil {
		return err
	}
	if old.Role == "user" {
		return m.user(old, parts)
	}
	return m.assistant(old, parts)
}

// user makes the prompt of what the person wrote and attached, and a message for each
// text that the program put beside it.
func (m *maker) user(old message, parts []located) error {
	prompt := session.Prompt{Agent: old.agent(), System: old.System, Tools: old.Tools, Variant: old.Variant}
	if old.Model.ModelID != "" {
		prompt.Model = &session.ModelRef{Provider: old.Model.ProviderID, Model: old.Model.ModelID}
	}
	var texts []string
	var beside []located
	for _, part := range parts {
		switch part.Type {
		case "text":
			if part.Synthetic || part.Ignored {
				beside = append(beside, part)
			} else {
				texts = append(texts, part.Text)
			}
		case "file":
			file, note, err := m.file(part)
			if err != nil {
				return err
			}
			if note != "" || len(prompt.Files) == session.MaxPromptFiles {
				texts = append(texts, fileNote(part.part))
			} else {
				prompt.Files = append(prompt.Files, file)
			}
		case "agent":
			prompt.Agents = append(prompt.Agents, session.PromptAgent{Name: part.Name})
		case "subtask":
			texts = append(texts, fmt.Sprintf("[task for %s: %s] %s", part.Agent, part.Description, part.Prompt))
		case "compaction":
			m.compacted = session.CompactionManual
			if part.Auto {
				m.compacted = session.CompactionAuto
			}
		case "reasoning", "tool", "snapshot", "patch", "retry", "step-start", "step-finish": // nothing of a person's
		default:
			return unknownPart(part)
		}
	}
	prompt.Text = strings.Join(texts, "\n\n")
	if prompt.Text == "" && len(prompt.Files) > 0 {
		prompt.Text = "(files)"
	}
	if prompt.Text != "" {
		if err := m.add(session.Message{ID: newID(session.PrefixMessage, old.ID, old.Time.Created), Type: session.MessageUser,
			Created: old.Time.Created, MessageBody: session.MessageBody{Prompt: &prompt}}); err != nil {
			return err
		}
	}
	return m.synthetic(old, beside)
}

// synthetic makes a message of each text that is not the person's, or not the model's.
func (m *maker) synthetic(old message, parts []located) error {
	for _, part := range parts {
		if err := m.add(session.Message{ID: newID(session.PrefixMessage, part.ID, old.Time.Created), Type: session.MessageSynthetic,
			Created: old.Time.Created, MessageBody: session.MessageBody{Text: part.Text, Ignored: part.Ignored}}); err != nil {
			return err
		}
	}
	return nil
}

func unknownPart(part located) error {
	return &FileError{File: part.file, Field: "type", Reason: fmt.Sprintf("%q is none of the twelve types of parts", clip(part.Type))}
}

// file answers an attachment, or why it stays a note in the text: it was a path, or is
// nothing that a prompt may have.
func (m *maker) file(part located) (file session.PromptFile, note string, err error) {
	if !strings.HasPrefix(part.URL, "data:") {
		return file, "a path", nil
	}
	value, err := decodeData(part.URL)
	if err != nil {
		return file, "", &FileError{File: part.file, Field: "url", Reason: err.Error()}
	}
	switch {
	case !slices.Contains(session.PromptFileTypes(), part.Mime):
		return file, "a type that no prompt has", nil
	case len(value) == 0 || len(value) > session.MaxPromptFileBytes:
		return file, "too large", nil
	}
	return session.PromptFile{Blob: m.keep(value), Mime: part.Mime, Name: readable(part.Filename)}, "", nil
}

// fileNote is what the text says of a file that is no attachment here.
func fileNote(part part) string {
	place := part.URL
	if strings.HasPrefix(place, "data:") {
		place = part.Mime
	} else if parsed, err := url.Parse(place); err == nil && parsed.Scheme == "file" {
		place = parsed.Path
	}
	return fmt.Sprintf("[file %s: %s]", readable(part.Filename), place)
}

// readable is a name without what nobody sees in it.
func readable(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return -1
		}
		return r
	}, name)
	for len(name) > 255 {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name
}

// decodeData answers the bytes of a data: URL.
func decodeData(text string) ([]byte, error) {
	head, body, found := strings.Cut(strings.TrimPrefix(text, "data:"), ",")
	if !found {
		return nil, fmt.Errorf("it is no data: URL; there is no comma in it")
	}
	if !strings.HasSuffix(head, ";base64") {
		value, err := url.PathUnescape(body)
		return []byte(value), err
	}
	value, err := base64.StdEncoding.DecodeString(body)
	if err != nil {
		value, err = base64.RawStdEncoding.DecodeString(body)
	}
	if err != nil {
		return nil, fmt.Errorf("it is no base64: %w", err)
	}
	return value, nil
}
