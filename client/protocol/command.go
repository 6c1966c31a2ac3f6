package protocol

// Command is a prompt that somebody wrote beforehand.
type Command struct {
	Name        string    `json:"name"`
	Source      string    `json:"source"` // builtin, config or project
	Description string    `json:"description,omitempty"`
	Agent       string    `json:"agent,omitempty"`
	Model       *ModelRef `json:"model,omitempty"`
}

// CommandList lists the commands by name.
type CommandList struct {
	Commands []Command `json:"commands"`
	// Warnings say which files of the project are left out, and why.
	Warnings []string `json:"warnings,omitempty"`
}

// RunShell asks for a command line that a person runs in a session.
type RunShell struct {
	// ID is the message's id, "msg_…". The same ID with the same command starts nothing
	// again.
	ID      string `json:"id,omitempty"`
	Command string `json:"command"`
}

// ShellRun is a command line that runs or has ended. The model reads both as a message.
type ShellRun struct {
	ID        string `json:"id"` // of the message
	SessionID string `json:"sessionID"`
	Command   string `json:"command"`
	Ended     bool   `json:"ended"`
	Output    string `json:"output,omitempty"`
	// Exit is absent while it runs, and when it did not end by itself.
	Exit   *int   `json:"exit,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}
