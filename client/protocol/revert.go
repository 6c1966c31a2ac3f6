package protocol

// RevertSession stages a return to before a message of a user or an assistant: it goes,
// and all that came after it, once the next prompt is taken or the revert is committed.
type RevertSession struct {
	Message string `json:"message"`
	// Files: those that the reverted steps changed are what they were before; absent
	// means yes.
	Files *bool `json:"files,omitempty"`
}

// RevertParams are a session and where it returns to.
type RevertParams struct {
	SessionID string `json:"sessionID"`
	RevertSession
}

// Revert is staged and can be cleared.
type Revert struct {
	// Message is the first that goes, Boundary the sequence of the last that stays, -1
	// for none.
	Message  string     `json:"message"`
	Boundary int64      `json:"boundary"`
	Files    []FileDiff `json:"files,omitempty"` // what was restored
	// Restoring: a process died while it restored the files. They are restored before
	// the session goes on; revert again or clear it.
	Restoring bool `json:"restoring,omitempty"`
	// Unrestored are paths that could not be restored: they are as they were.
	Unrestored []string `json:"unrestored,omitempty"`
}

// Changes are what became of the files in the session's place.
type Changes struct {
	Additions int `json:"additions"` // lines
	Deletions int `json:"deletions"`
	Total     int `json:"total"` // files
	// Files are the first thousand by path; lists of sessions leave them out.
	Files []FileDiff `json:"files,omitempty"`
}

// ListChanges selects changes of files: of the whole session, or of the steps of one
// message of a user or an assistant.
type ListChanges struct {
	Message string `json:"message,omitempty"`
	// Patch asks for unified diffs too; of one file with Path.
	Patch bool   `json:"patch,omitempty"`
	Path  string `json:"path,omitempty"`
}

// ChangesParams are a session and a selection of its changes.
type ChangesParams struct {
	SessionID string `json:"sessionID"`
	ListChanges
}

// ChangeList is what became of the files.
type ChangeList struct {
	SessionID string       `json:"sessionID"`
	Additions int          `json:"additions"` // lines
	Deletions int          `json:"deletions"`
	Total     int          `json:"total"` // files
	Files     []FileChange `json:"files"` // the first thousand by path
	Cursor    string       `json:"cursor,omitempty"`
}

// FileChange is one file of it.
type FileChange struct {
	FileDiff
	// Patch is the unified diff, as git writes it.
	Patch string `json:"patch,omitempty"`
	// Cut: a patch was asked for and did not fit; ask for the file alone.
	Cut bool `json:"cut,omitempty"`
}
