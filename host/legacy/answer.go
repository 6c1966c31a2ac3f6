package legacy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/plinthhost/plinth/session"
)

// answer is an assistant's message in the making.
type answer struct {
	maker *maker
	body  session.MessageBody
	parts []session.MessagePart
	// beside are texts that people saw and the model did not.
	beside []located
	cost   money
	usage  *session.Usage
}

func (m *maker) assistant(old message, parts []located) error {
	name := path.Join("message", old.SessionID, old.ID+".json")
	a := &answer{maker: m, body: session.MessageBody{Agent: old.agent(), Model: &session.ModelRef{Provider: old.ProviderID, Model: old.ModelID},
		Finish: finish(old.Finish), Completed: old.Time.Completed}}
	for _, part := range parts {
		if err := a.part(part); err != nil {
			return err
		}
	}
	if err := a.spent(name, old); err != nil {
		return err
	}
	id := newID(session.PrefixMessage, old.ID, old.Time.Created)
	if summary := a.text(); old.isSummary() && old.Error == nil && summary != "" {
		return m.summary(id, old, summary)
	}
	a.end(old)
	if err := m.add(session.Message{ID: id, Type: session.MessageAssistant, Created: old.Time.Created, MessageBody: a.body, Parts: a.parts}); err != nil {
		return err
	}
	return m.synthetic(old, a.beside)
}

// summary folds what came before, as it did there.
func (m *maker) summary(id string, old message, text string) error {
	reason := m.compacted
	if reason == "" {
		reason = session.CompactionAuto
	}
	m.compacted = ""
	m.messages++
	return m.append(old.Time.Created, session.CompactionEnded{Message: id, Reason: reason, Summary: text, Boundary: int64(len(m.events)) - 1})
}

func (a *answer) text() string {
	var texts []string
	for _, part := range a.parts {
		if part.Type == session.MessagePartText {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// end closes the answer. One that nobody finished was interrupted.
func (a *answer) end(old message) {
	switch {
	case old.Error != nil:
		failed := failureOf(*old.Error)
		a.body.Error = &failed
	case old.Time.Completed == 0:
		a.body.Error = &session.Failure{Code: session.FailureInterrupted, Message: "The older program stopped during this answer"}
	}
	if a.body.Completed == 0 {
		a.body.Completed = old.Time.Created
	}
}

func (a *answer) part(part located) error {
	switch part.Type {
	case "text":
		if part.Ignored {
			a.beside = append(a.beside, part)
			return nil
		}
		a.parts = append(a.parts, session.MessagePart{Type: session.MessagePartText, ID: part.ID, Text: part.Text, Synthetic: part.Synthetic})
	case "reasoning": // what the provider signed means nothing to the one here
		a.parts = append(a.parts, session.MessagePart{Type: session.MessagePartReasoning, ID: part.ID, Text: part.Text})
	case "tool":
		return a.tool(part)
	case "file":
		a.note(part, fileNote(part.part))
	case "agent":
		a.note(part, "[agent "+part.Name+"]")
	case "subtask":
		a.note(part, fmt.Sprintf("[task for %s: %s] %s", part.Agent, part.Description, part.Prompt))
	case "snapshot":
		a.body.After = part.Snapshot
	case "patch":
		for _, file := range part.Files {
			a.body.Files = append(a.body.Files, session.FileDiff{Path: file})
		}
		if a.body.Before == "" {
			a.body.Before = part.Hash
		}
	case "step-start":
		if a.body.Before == "" {
			a.body.Before = part.Snapshot
		}
	case "step-finish":
		return a.step(part)
	case "retry":
		return a.retry(part)
	case "compaction": // of a person's message
	default:
		return unknownPart(part)
	}
	return nil
}

func (a *answer) note(part located, text string) {
	a.parts = append(a.parts, session.MessagePart{Type: session.MessagePartText, ID: part.ID, Text: text, Synthetic: true})
}

func (a *answer) step(part located) error {
	if part.Snapshot != "" {
		a.body.After = part.Snapshot
	}
	if part.Reason != "" {
		a.body.Finish = finish(part.Reason)
	}
	if err := a.cost.add(part.Cost); err != nil {
		return &FileError{File: part.file, Field: "cost", Reason: err.Error()}
	}
	return a.use(part.file, part.Tokens)
}

// use adds tokens. There input was without what a cache had, and output without
// reasoning; here both are inclusive.
func (a *answer) use(file string, t *tokens) error {
	if t == nil {
		return nil
	}
	const most = 1 << 40
	for _, count := range [...]int64{t.Input, t.Output, t.Reasoning, t.Cache.Read, t.Cache.Write} {
		if count < 0 || count > most {
			return &FileError{File: file, Field: "tokens", Reason: fmt.Sprintf("%d is no number of tokens", count)}
		}
	}
	if a.usage == nil {
		a.usage = &session.Usage{}
	}
	a.usage.Input += t.Input + t.Cache.Read + t.Cache.Write
	a.usage.Output += t.Output + t.Reasoning
	a.usage.Reasoning += t.Reasoning
	a.usage.CacheRead += t.Cache.Read
	a.usage.CacheWrite += t.Cache.Write
	return nil
}

// spent takes the message's own numbers where no step has any.
func (a *answer) spent(file string, old message) error {
	if a.usage == nil {
		if err := a.use(file, old.Tokens); err != nil {
			return err
		}
	}
	if !a.cost.known {
		if err := a.cost.add(old.Cost); err != nil {
			return &FileError{File: file, Field: "cost", Reason: err.Error()}
		}
	}
	var err error
	if a.body.Cost, err = a.cost.nano(); err != nil {
		return &FileError{File: file, Field: "cost", Reason: err.Error()}
	}
	a.body.Usage = a.usage
	return nil
}

func (a *answer) retry(part located) error {
	if part.Attempt < 0 || part.Time.Created < 0 || part.Time.Created > latest {
		return &FileError{File: part.file, Field: "attempt", Reason: "attempt and time.created cannot be negative"}
	}
	retry := session.Retry{Attempt: part.Attempt + 1, At: part.Time.Created}
	if part.Error != nil {
		retry.Error = failureOf(*part.Error)
	}
	a.body.Retries = append(a.body.Retries, retry)
	return nil
}

// maxMetadata bounds what is kept of what a tool said for the program, in bytes.
const maxMetadata = 64 << 10

// tool settles a call: one that never was there was interrupted.
func (a *answer) tool(part located) error {
	state := part.State
	if state == nil {
		return &FileError{File: part.file, Field: "state", Reason: "a tool has no state"}
	}
	id := part.CallID
	if id == "" {
		id = part.ID
	}
	call := &session.ToolPart{Name: toolName(part.Tool), Input: object(state.Input), Title: state.Title, Started: state.Time.Start, Settled: state.Time.End}
	if len(state.Metadata) <= maxMetadata && string(state.Metadata) != "null" {
		call.Metadata = state.Metadata
	}
	switch state.Status {
	case "completed":
		call.State, call.Pruned = session.ToolStateCompleted, state.Time.Compacted
		call.Content = []session.ToolContent{{Type: "text", Text: state.Output}}
		for _, attached := range state.Attachments {
			content, err := a.attachment(located{part: attached, file: part.file})
			if err != nil {
				return err
			}
			call.Content = append(call.Content, content)
		}
	case "error":
		call.State, call.Error = session.ToolStateFailed, &session.ToolError{Kind: "failed", Message: state.Error}
	case "pending", "running":
		call.State, call.Raw = session.ToolStateFailed, state.Raw
		call.Error = &session.ToolError{Kind: "cancelled", Message: "The call was interrupted; whether it had an effect is not known"}
	default:
		return &FileError{File: part.file, Field: "state.status", Reason: fmt.Sprintf("%q is none of pending, running, completed and error", clip(state.Status))}
	}
	a.parts = append(a.parts, session.MessagePart{Type: session.MessagePartTool, ID: id, Tool: call})
	return nil
}

func (a *answer) attachment(part located) (session.ToolContent, error) {
	file, note, err := a.maker.file(part)
	if err != nil {
		if bad, ok := errors.AsType[*FileError](err); ok {
			bad.Field = "state.attachments.url"
		}
		return session.ToolContent{}, err
	}
	if note != "" {
		return session.ToolContent{Type: "text", Text: fileNote(part.part)}, nil
	}
	return session.ToolContent{Type: "file", Mime: file.Mime, Name: file.Name, Blob: file.Blob}, nil
}

// object is the input as tools have it here: a JSON object.
func object(input json.RawMessage) json.RawMessage {
	trimmed := bytes.TrimSpace(input)
	switch {
	case len(trimmed) == 0 || string(trimmed) == "null":
		return json.RawMessage(`{}`)
	case trimmed[0] == '{':
		return trimmed
	}
	return json.RawMessage(`{"value":` + string(trimmed) + `}`)
}

// toolName is a name that providers take.
func toolName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	if clean == "" || !(clean[0] >= 'a' && clean[0] <= 'z' || clean[0] >= 'A' && clean[0] <= 'Z') {
		clean = "tool_" + clean
	}
	return clean[:min(len(clean), 64)]
}

func finish(reason string) session.FinishReason {
	switch reason {
	case "":
		return ""
	case "stop":
		return session.FinishStop
	case "length":
		return session.FinishLength
	case "tool-calls", "tool_calls":
		return session.FinishToolCalls
	case "content-filter", "content_filter":
		return session.FinishContentFilter
	}
	return session.FinishUnknown
}

// failureOf is an error in the words of this program.
func failureOf(old failure) session.Failure {
	failed := session.Failure{Code: session.ProviderUnknown, Message: old.Data.Message, Status: old.Data.StatusCode, Retryable: old.Data.IsRetryable}
	switch old.Name {
	case "MessageAbortedError":
		failed.Code = session.FailureInterrupted
	case "ProviderAuthError":
		failed.Code = session.ProviderAuthentication
	}
	if failed.Message == "" {
		failed.Message = old.Name
	}
	return failed
}
