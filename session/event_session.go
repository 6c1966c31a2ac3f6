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
	Exit   *int   `json:"exit,omitempty"` // nil when a signal ended it
}

// TodosChanged replaces the session's list.
type TodosChanged struct {
	Todos []Todo `json:"todos"`
}

// CompactionStarted: a summary of the history is being made.
type CompactionStarted struct {
	Message string           `json:"message"`
	Reason  CompactionReason `json:"reason"`
}

// CompactionReason is why the history is compacted.
type CompactionReason string

// The reasons.
const (
	CompactionAuto     CompactionReason = "auto"
	CompactionOverflow CompactionReason = "overflow"
	CompactionManual   CompactionReason = "manual"
)

// CompactionEnded replaces what the model is sent of the history: the summary, the
// kept messages, then what came after Boundary.
type CompactionEnded struct {
	Message string           `json:"message"`
	Reason  CompactionReason `json:"reason"`
	Summary string           `json:"summary"`
	// Boundary is the sequence of the last message that was folded.
	Boundary int64 `json:"boundary"`
	// Kept are ids of folded messages that stay as they are, in order.
	Kept []string `json:"kept,omitempty"`
}

// CompactionFailed leaves the history as it is.
type CompactionFailed struct {
	Message string           `json:"message"`
	Reason  CompactionReason `json:"reason"`
	Error   Failure          `json:"error"`
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
func (CompactionStarted) EventType() string { return "session.compaction.started" }
func (CompactionEnded) EventType() string   { return "session.compaction.ended" }
func (CompactionFailed) EventType() string  { return "session.compaction.failed" }
