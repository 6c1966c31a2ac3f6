package session

import "context"

// What a ToolHost may serve besides. A tool that asks for what its host does not
// serve is told that it is unavailable.

// ReadObserver hears of the files that a tool reads: what instructs beside them is told
// from the next turn on.
type ReadObserver interface {
	// Read is called with the canonical absolute path of a file whose content the tool
	// got. What is not below the root of the call's Location is left out.
	Read(path string)
}

// Describer tells of the session.
type Describer interface {
	Describe(ctx context.Context) (Description, error)
}

// Description is what a tool may know of its session.
type Description struct {
	Title string
	Model ModelRef
}

// Questioner puts questions to the person who follows the session, and waits.
// *DeniedError when they were dismissed. Before is as in PermissionRequest.
type Questioner interface {
	Question(ctx context.Context, questions []Question, before bool) (answers [][]string, err error)
}

// Question is a choice, a text, or both.
type Question struct {
	Header   string           `json:"header,omitempty"`
	Text     string           `json:"text"`
	Options  []QuestionOption `json:"options,omitempty"`
	Multiple bool             `json:"multiple,omitempty"`
	Custom   bool             `json:"custom,omitempty"` // the person may write an answer
}

// QuestionOption is an answer to choose.
type QuestionOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// TaskRunner runs a prompt in a child session and waits for its end, unless it is
// to go on in the background.
type TaskRunner interface {
	RunTask(ctx context.Context, task Task) (TaskResult, error)
}

// Task is a prompt for a child session.
type Task struct {
	Description string
	Prompt      string
	Agent       string
	Session     string // of an earlier task, to go on with
	Background  bool
}

// TaskResult is how a task ended.
type TaskResult struct {
	Session string
	Text    string // the last answer; "" in the background
}

// TodoKeeper keeps the session's list.
type TodoKeeper interface {
	Todos(ctx context.Context) ([]Todo, error)
	SetTodos(ctx context.Context, todos []Todo) error
}

// Todo is an item of the list.
type Todo struct {
	ID       string `json:"id"`
	Content  string `json:"content"`
	Status   string `json:"status"`             // pending, in_progress, completed, cancelled
	Priority string `json:"priority,omitempty"` // high, medium, low
}

// SkillShelf answers the skills that the agent may use.
type SkillShelf interface {
	// Skills are by name, without those that the rules deny.
	Skills(ctx context.Context) ([]Skill, error)
	// Skill asks for the permission skill and answers one; ErrNotFound, without asking
	// anybody, when there is none of the name.
	Skill(ctx context.Context, name string) (Skill, error)
}

// Skill is a text that tells an agent how to do something.
type Skill struct {
	Name        string
	Description string   // one line
	Text        string   // with Skill only
	Directory   string   // where its other files are, absolute; "" for none
	Files       []string // some of them, relative and ascending; with Skill only
}

// MaxSkillFiles bounds the files that are named of a skill.
const MaxSkillFiles = 10

// SkillFinder finds the skills there are in a place, whoever may use them.
type SkillFinder interface {
	// Skills are by name. Their files are not named.
	Skills(ctx context.Context, location Location) ([]Skill, error)
	// Skill answers one; ErrNotFound when there is none of the name.
	Skill(ctx context.Context, location Location, name string) (Skill, error)
}
