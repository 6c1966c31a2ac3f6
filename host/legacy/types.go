package legacy

import (
	"encoding/json"
	"path"
)

// The files, with the fields that are taken over.

type project struct {
	Worktree string `json:"worktree"`
	VCS      string `json:"vcs"`
}

type info struct {
	ID        string `json:"id"`
	Slug      string `json:"slug"`
	Directory string `json:"directory"`
	ParentID  string `json:"parentID"`
	Title     string `json:"title"`
	Time      struct {
		Created  int64 `json:"created"`
		Updated  int64 `json:"updated"`
		Archived int64 `json:"archived"`
	} `json:"time"`
}

type diff struct {
	File      string `json:"file"`
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
}

type tokens struct {
	Input     int64 `json:"input"`
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning"`
	Cache     struct {
		Read  int64 `json:"read"`
		Write int64 `json:"write"`
	} `json:"cache"`
}

type failure struct {
	Name string `json:"name"`
	Data struct {
		Message     string `json:"message"`
		StatusCode  int    `json:"statusCode"`
		IsRetryable bool   `json:"isRetryable"`
	} `json:"data"`
}

// message is of both roles. Summary is an object of a user's, a boolean of an
// assistant's.
type message struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionID"`
	Role      string `json:"role"`
	Time      struct {
		Created   int64 `json:"created"`
		Completed int64 `json:"completed"`
	} `json:"time"`
	Agent   string          `json:"agent"`
	Summary json.RawMessage `json:"summary"`

	Model struct {
		ProviderID string `json:"providerID"`
		ModelID    string `json:"modelID"`
	} `json:"model"`
	System  string          `json:"system"`
	Tools   map[string]bool `json:"tools"`
	Variant string          `json:"variant"`

	Mode       string      `json:"mode"` // what Agent was called before
	ProviderID string      `json:"providerID"`
	ModelID    string      `json:"modelID"`
	Error      *failure    `json:"error"`
	Finish     string      `json:"finish"`
	Cost       json.Number `json:"cost"`
	Tokens     *tokens     `json:"tokens"`
}

func (m *message) isSummary() bool { return string(m.Summary) == "true" }

func (m *message) agent() string {
	if m.Agent != "" {
		return m.Agent
	}
	return m.Mode
}

// part is of all twelve types.
type part struct {
	ID        string `json:"id"`
	MessageID string `json:"messageID"`
	SessionID string `json:"sessionID"`
	Type      string `json:"type"`

	Text      string `json:"text"` // text, reasoning
	Synthetic bool   `json:"synthetic"`
	Ignored   bool   `json:"ignored"`

	CallID string `json:"callID"` // tool
	Tool   string `json:"tool"`
	State  *state `json:"state"`

	Mime     string `json:"mime"` // file
	Filename string `json:"filename"`
	URL      string `json:"url"`

	Snapshot string   `json:"snapshot"` // snapshot, step-start, step-finish
	Hash     string   `json:"hash"`     // patch
	Files    []string `json:"files"`

	Name string `json:"name"` // agent

	Auto bool `json:"auto"` // compaction

	Prompt      string `json:"prompt"` // subtask
	Description string `json:"description"`
	Agent       string `json:"agent"`

	Attempt int      `json:"attempt"` // retry
	Error   *failure `json:"error"`
	Time    struct {
		Created int64 `json:"created"`
	} `json:"time"`

	Reason string      `json:"reason"` // step-finish
	Cost   json.Number `json:"cost"`
	Tokens *tokens     `json:"tokens"`
}

// state is of a tool call.
type state struct {
	Status      string          `json:"status"`
	Input       json.RawMessage `json:"input"`
	Raw         string          `json:"raw"`
	Output      string          `json:"output"`
	Title       string          `json:"title"`
	Metadata    json.RawMessage `json:"metadata"`
	Error       string          `json:"error"`
	Attachments []part          `json:"attachments"`
	Time        struct {
		Start     int64 `json:"start"`
		End       int64 `json:"end"`
		Compacted int64 `json:"compacted"`
	} `json:"time"`
}

// latest is the last millisecond that an id can hold.
const latest = 1<<48 - 1

func (f *files) session(projectID, id string) (s info, err error) {
	name := path.Join("session", projectID, id+".json")
	there, err := f.read(name, &s)
	switch {
	case err != nil:
		return s, err
	case !there:
		return s, &FileError{File: name, Reason: "there is no such file"}
	case s.ID != id:
		return s, &FileError{File: name, Field: "id", Reason: "it is not that of the file's name"}
	case s.Time.Created <= 0 || s.Time.Created > latest:
		return s, &FileError{File: name, Field: "time.created", Reason: "it must be milliseconds since 1970"}
	case s.Directory == "" || !path.IsAbs(s.Directory):
		return s, &FileError{File: name, Field: "directory", Reason: "it must be an absolute path"}
	case s.Time.Archived < 0 || s.Time.Archived > latest || s.Time.Updated < 0 || s.Time.Updated > latest:
		return s, &FileError{File: name, Field: "time", Reason: "it must have milliseconds since 1970"}
	}
	return s, nil
}

func (f *files) message(sessionID, id string) (m message, err error) {
	name := path.Join("message", sessionID, id+".json")
	there, err := f.read(name, &m)
	switch {
	case err != nil:
		return m, err
	case !there:
		return m, &FileError{File: name, Reason: "there is no such file"}
	case m.ID != id:
		return m, &FileError{File: name, Field: "id", Reason: "it is not that of the file's name"}
	case m.SessionID != sessionID:
		return m, &FileError{File: name, Field: "sessionID", Reason: "it is not the session whose folder the file is in"}
	case m.Role != "user" && m.Role != "assistant":
		return m, &FileError{File: name, Field: "role", Reason: "it is " + clip(m.Role) + "; user or assistant must be here"}
	case m.Time.Created <= 0 || m.Time.Created > latest || m.Time.Completed < 0 || m.Time.Completed > latest:
		return m, &FileError{File: name, Field: "time", Reason: "it must have milliseconds since 1970"}
	}
	return m, nil
}

func (f *files) parts(messageID string) (all []located, err error) {
	folder := path.Join("part", messageID)
	ids, err := f.list(folder, ".json", MaxParts)
	for _, id := range ids {
		one := located{file: path.Join(folder, id+".json")}
		there, err := f.read(one.file, &one.part)
		switch {
		case err != nil:
			return nil, err
		case !there:
			return nil, &FileError{File: one.file, Reason: "there is no such file"}
		case one.ID != id:
			return nil, &FileError{File: one.file, Field: "id", Reason: "it is not that of the file's name"}
		case one.MessageID != messageID:
			return nil, &FileError{File: one.file, Field: "messageID", Reason: "it is not the message whose folder the file is in"}
		}
		all = append(all, one)
	}
	return all, err
}

// located is a part with its file.
type located struct {
	part
	file string
}
