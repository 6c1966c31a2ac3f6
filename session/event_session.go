package session

// Created begins a session.
type Created struct {
	Title    string   `json:"title,omitempty"`
	Location Location `json:"location"`
	Agent    string   `json:"agent"`
	Model    ModelRef `json:"model"`
	// Parent is the session whose call made this one; empty for a session of its own.
	Parent string `json:"parent,omitempty"`
	// Depth counts the ancestors.
	Depth int `json:"depth,omitempty"`
	// Rules are the session's own permission rules, after all others.
	Rules []Rule `json:"rules,omitempty"`
	// Budgets are the session's own, beside the operator's.
	Budgets []Budget `json:"budgets,omitempty"`
	// Slug is a name for people, without spaces; it need not be unique.
	Slug string `json:"slug,omitempty"`
	// Fork says what the session is a fork of; its messages are imported.
	Fork *Fork `json:"fork,omitempty"`
}

// Fork is where a session left another one.
type Fork struct {
	Session string `json:"session"`
	// Message is the last one that both have; Seq is its sequence in the other session.
	Message string `json:"message"`
	Seq     int64  `json:"seq"`
}

// AgentSwitched: the session goes on as another agent from its next turn on.
type AgentSwitched struct {
	Message string `json:"message"`
	Agent   string `json:"agent"`
}

// ModelSwitched: the session goes on with another model from its next turn on.
type ModelSwitched struct {
	Message string   `json:"message"`
	Model   ModelRef `json:"model"`
}

// RulesChanged replaces the session's own permission rules.
type RulesChanged struct {
	Rules []Rule `json:"rules"`
}

// BudgetsChanged replaces the session's own budgets.
type BudgetsChanged struct {
	Budgets []Budget `json:"budgets"`
}

// Moved: the session works elsewhere from its next turn on. Its context epoch is
// over; the destination begins another.
type Moved struct {
	Location Location `json:"location"`
}

// Synthetic is a message that the host wrote and the model reads as a user's.
type Synthetic struct {
	Message     string `json:"message"`
	Text        string `json:"text"`
	Description string `json:"description,omitempty"` // for people
	// Ignored: people see it, the model does not.
	Ignored bool `json:"ignored,omitempty"`
}

// ShellStarted: a person ran a command in the session.
type ShellStarted struct {
	Message string `json:"message"`
	Call    string `json:"call"`
	Command string `json:"command"`
}

// ShellEnded carries the command's output, standard output and error together.
type ShellEnded struct {
	Call   string `json:"call"`
	Output string `json:"output"`
	Exit   *int   `json:"exit,omitempty"` // nil when it did not end by itself
	// Outputs are the files with what Output leaves out.
	Outputs []string `json:"outputs,omitempty"`
}

// TodosChanged replaces the session's list.
type TodosChanged struct {
	Todos []Todo `json:"todos"`
}

// Renamed gives the session a title.
type Renamed struct {
	Title string `json:"title"`
	// Auto: a model made it, and what that used and cost (nano-dollars).
	Auto  bool   `json:"auto,omitempty"`
	Usage *Usage `json:"usage,omitempty"`
	Cost  *int64 `json:"cost,omitempty"`
}

// Archived puts the session out of sight; it can be worked on still.
type Archived struct{}

// Unarchived puts it back.
type Unarchived struct{}

// RetentionChanged says how long the session's history is kept.
type RetentionChanged struct {
	Retention Retention `json:"retention"`
}

// Retention is how much of a session's history is kept.
type Retention struct {
	Keep RetentionKeep `json:"keep"`
	// Days counts from when something happened (RetainDays).
	Days int `json:"days,omitempty"`
}

// RetentionKeep is a way to keep history.
type RetentionKeep string

// The ways. What the model is still sent is kept by all of them.
const (
	RetainAll        RetentionKeep = "all"
	RetainCompaction RetentionKeep = "compaction" // what came since the last compaction
	RetainDays       RetentionKeep = "days"
)

// ChangesSummarized: what the session has changed in its Location's files so far.
type ChangesSummarized struct {
	Changes Changes `json:"changes"`
}

// Changes are what became of the files between two snapshots.
type Changes struct {
	From      string     `json:"from"` // snapshots
	To        string     `json:"to"`
	Additions int        `json:"additions"` // lines
	Deletions int        `json:"deletions"`
	Files     []FileDiff `json:"files,omitempty"` // the first MaxFileDiffs by path
	Total     int        `json:"total,omitempty"` // files
}

// EventType names the kind.
func (Created) EventType() string           { return "session.created" }
func (AgentSwitched) EventType() string     { return "session.agent.switched" }
func (ModelSwitched) EventType() string     { return "session.model.switched" }
func (RulesChanged) EventType() string      { return "session.rules.changed" }
func (BudgetsChanged) EventType() string    { return "session.budgets.changed" }
func (Moved) EventType() string             { return "session.moved" }
func (Synthetic) EventType() string         { return "session.synthetic" }
func (ShellStarted) EventType() string      { return "session.shell.started" }
func (ShellEnded) EventType() string        { return "session.shell.ended" }
func (TodosChanged) EventType() string      { return "session.todos.changed" }
func (Renamed) EventType() string           { return "session.renamed" }
func (Archived) EventType() string          { return "session.archived" }
func (Unarchived) EventType() string        { return "session.unarchived" }
func (RetentionChanged) EventType() string  { return "session.retention.changed" }
func (ChangesSummarized) EventType() string { return "session.changes.summarized" }
