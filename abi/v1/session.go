package abi

// TaskRun is the request of "task.run": a prompt for a session of its own, whose
// answer is waited for.
type TaskRun struct {
	Description string `json:"description"` // a few words
	Prompt      string `json:"prompt"`      // what it is told; at most 256 KiB
	Agent       string `json:"agent"`       // what it works as
	// Session goes on with that of an earlier task of this session.
	Session string `json:"session,omitempty"`
	// Background answers at once; the result reaches the session as a message.
	Background bool `json:"background,omitempty"`
}

// TaskRan is its ok.
type TaskRan struct {
	Session string `json:"session"`        // its id, to go on with
	Text    string `json:"text,omitempty"` // the last answer; empty in the background
}

// Todo is an item of the session's list.
type Todo struct {
	ID       string `json:"id"`       // not empty; no two have the same
	Content  string `json:"content"`  // what is to be done; at most 4 KiB
	Status   string `json:"status"`   // "pending", "in_progress", "completed" or "cancelled"
	Priority string `json:"priority"` // "high", "medium" or "low"
}

// TodoList is the ok of "todo.get", and the request and ok of "todo.set".
type TodoList struct {
	Todos []Todo `json:"todos"` // at most 200
}

// Skill is a text that tells an agent how to do something.
type Skill struct {
	Name        string `json:"name"`        // of the skill
	Description string `json:"description"` // what it is for
}

// SkillListed is the ok of "skill.list".
type SkillListed struct {
	Skills []Skill `json:"skills"` // by name
}

// SkillGet is the request of "skill.get".
type SkillGet struct {
	Name string `json:"name"` // of the skill
}

// SkillText is its ok.
type SkillText struct {
	Skill
	Text string `json:"text"` // all of it
	// Directory is where the skill's other files are, absolute; empty when there are none.
	Directory string `json:"directory,omitempty"`
}

// SessionInfo is the ok of "session.info".
type SessionInfo struct {
	Session  Session  `json:"session"`         // which session
	Location Location `json:"location"`        // where it works
	Title    string   `json:"title,omitempty"` // of the session; empty in this version
	Model    string   `json:"model,omitempty"` // provider/model
}
