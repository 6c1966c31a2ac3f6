package session

// PermissionAsked waits for a person. It stays open until it is answered.
type PermissionAsked struct {
	Request string            `json:"request"`
	Message string            `json:"message,omitempty"`
	Call    string            `json:"call,omitempty"`
	Agent   string            `json:"agent"`
	Ask     PermissionRequest `json:"ask"`
}

// PermissionReplied answers it.
type PermissionReplied struct {
	Request  string `json:"request"`
	Reply    Reply  `json:"reply"`
	Feedback string `json:"feedback,omitempty"`
	// Saves: an "always" is kept by this event itself, as version 1 did. Since
	// version 2 approvals have events of their own.
	Saves bool `json:"saves,omitempty"`
}

// QuestionAsked waits for a person. It stays open until it is answered.
type QuestionAsked struct {
	Request   string     `json:"request"`
	Message   string     `json:"message,omitempty"`
	Call      string     `json:"call,omitempty"`
	Agent     string     `json:"agent"`
	Questions []Question `json:"questions"`
	// Before: the call has had no effect yet, so it can be run again from its start.
	Before bool `json:"before,omitempty"`
}

// QuestionAnswered answers it: for each question the labels chosen, or the text.
type QuestionAnswered struct {
	Request string     `json:"request"`
	Answers [][]string `json:"answers"`
}

// QuestionDismissed: the person does not answer, or nobody waits any more.
type QuestionDismissed struct {
	Request   string `json:"request"`
	Withdrawn bool   `json:"withdrawn,omitempty"`
}

// ChildAsked tells an ancestor that a session under it waits for a person.
type ChildAsked struct {
	Session string `json:"session"`
	Request string `json:"request"` // of a permission or a question
}

// ChildAnswered tells it that the request is closed.
type ChildAnswered struct {
	Session string `json:"session"`
	Request string `json:"request"`
}

// ApprovalSaved keeps an "always" for a project, for the plugin that asked. It is an
// event of the host.
type ApprovalSaved struct {
	Root     string `json:"root"`
	Plugin   string `json:"plugin,omitempty"`
	Action   string `json:"action"`
	Resource string `json:"resource"`
	Session  string `json:"session"` // where it was given
	Request  string `json:"request"`
}

// ApprovalRemoved takes it back.
type ApprovalRemoved struct {
	Root     string `json:"root"`
	Plugin   string `json:"plugin,omitempty"`
	Action   string `json:"action"`
	Resource string `json:"resource"`
}

// EventType names the kind.
func (PermissionAsked) EventType() string   { return "session.permission.asked" }
func (PermissionReplied) EventType() string { return "session.permission.replied" }
func (QuestionAsked) EventType() string     { return "session.question.asked" }
func (QuestionAnswered) EventType() string  { return "session.question.answered" }
func (QuestionDismissed) EventType() string { return "session.question.dismissed" }
func (ChildAsked) EventType() string        { return "session.child.asked" }
func (ChildAnswered) EventType() string     { return "session.child.answered" }
func (ApprovalSaved) EventType() string     { return "host.approval.saved" }
func (ApprovalRemoved) EventType() string   { return "host.approval.removed" }
