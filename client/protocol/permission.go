package protocol

import "time"

// Permission is a question that waits for a person: may this be done?
type Permission struct {
	ID        string   `json:"id"`
	SessionID string   `json:"sessionID"`
	Action    string   `json:"action"`
	Resources []string `json:"resources"`
	// Save is what the reply "always" will allow from then on.
	Save []string `json:"save,omitempty"`
	// Plugin is who asks; empty for the host and its builtins.
	Plugin  string    `json:"plugin,omitempty"`
	Agent   string    `json:"agent,omitempty"`
	Message string    `json:"message,omitempty"`
	CallID  string    `json:"callID,omitempty"`
	Tool    string    `json:"tool,omitempty"`
	Time    time.Time `json:"time"`
	Cursor  string    `json:"cursor,omitempty"`
}

// PermissionList holds the open permissions, oldest first.
type PermissionList struct {
	Permissions []Permission `json:"permissions"`
}

// Answer is a person's reply to a permission.
type Answer string

// The answers.
const (
	AnswerOnce   Answer = "once"
	AnswerAlways Answer = "always"
	AnswerReject Answer = "reject"
)

// PermissionReply answers a permission. The first reply counts; a later one gets
// already_resolved.
type PermissionReply struct {
	Reply Answer `json:"reply"`
	// Message corrects the model; it goes with reject only.
	Message string `json:"message,omitempty"`
}

// Approval is an "always" that was given in a project. It belongs to the plugin that
// asked.
type Approval struct {
	ID       string    `json:"id"`
	Root     string    `json:"root"`
	Plugin   string    `json:"plugin,omitempty"` // empty for the host and its builtins
	Action   string    `json:"action"`
	Resource string    `json:"resource"` // a pattern
	Time     time.Time `json:"time"`
}

// ApprovalList holds the approvals, oldest first.
type ApprovalList struct {
	Approvals []Approval `json:"approvals"`
}

// PermissionReceipt says that a reply was recorded.
type PermissionReceipt struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionID"`
	Reply     Answer `json:"reply"`
	Cursor    string `json:"cursor,omitempty"`
}
