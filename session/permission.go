package session

// PermissionRequest asks for an action on resources.
type PermissionRequest struct {
	Action    string   `json:"action"`
	Resources []string `json:"resources"`
	// Save is what an "always" reply will allow from then on: patterns of Action.
	Save []string `json:"save,omitempty"`
	// Plugin is who asks; empty for the host itself and builtins.
	Plugin string `json:"plugin,omitempty"`
	// Before: the call has had no effect yet, so it can be run again from its start.
	// A request that says so outlives the process that waits for it.
	Before bool `json:"before,omitempty"`
}

// DeniedError is an action that was not allowed.
type DeniedError struct {
	Action   string
	Resource string // empty where the action has none
	// Declined: a person said no, which halts the activity. Otherwise a rule did,
	// or a person corrected with Feedback, and the model is told.
	Declined bool
	Feedback string
}

func (e *DeniedError) Error() string {
	what := e.Action
	if e.Resource != "" {
		what += " on " + e.Resource
	}
	switch {
	case e.Feedback != "":
		return what + " was refused: " + e.Feedback
	case e.Declined:
		return what + " was declined"
	}
	return what + " is denied by the permission rules"
}

// Reply is a person's answer to a permission request.
type Reply string

// The replies. Withdrawn: nobody waits for it any more.
const (
	ReplyOnce      Reply = "once"
	ReplyAlways    Reply = "always"
	ReplyReject    Reply = "reject"
	ReplyWithdrawn Reply = "withdrawn"
)
