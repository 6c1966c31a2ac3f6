package protocol

// Agent is a way to work that a session or a task can have.
type Agent struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Mode        AgentMode `json:"mode"`
	// Model is the one it uses; that of the session when absent.
	Model *ModelRef `json:"model,omitempty"`
	// Steps is how many provider turns may follow a prompt; any number when absent.
	Steps int `json:"steps,omitempty"`
	// Project: it is a file of the project.
	Project bool `json:"project,omitempty"`
}

// AgentMode says who may choose an agent.
type AgentMode string

// The modes.
const (
	AgentPrimary  AgentMode = "primary"  // a person, for a session
	AgentSubagent AgentMode = "subagent" // a model, for a task
	AgentAll      AgentMode = "all"      // both
	AgentHidden   AgentMode = "hidden"   // the host alone
)

// AgentList lists all agents by name, hidden ones too.
type AgentList struct {
	Agents []Agent `json:"agents"`
	// Default is what a session has whose creator names none.
	Default string `json:"default"`
	// Warnings say which files of the project are left out, and why.
	Warnings []string `json:"warnings,omitempty"`
}
