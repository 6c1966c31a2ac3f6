package protocol

// Methods of a req frame. Each does what its HTTP route does and answers the
// same result.
const (
	MethodSessionCreate    = "session.create"    // CreateSession → Session
	MethodSessionGet       = "session.get"       // SessionParams → Session
	MethodSessionsList     = "sessions.list"     // ListSessions → SessionList
	MethodSessionMessages  = "session.messages"  // MessagesParams → MessageList
	MethodSessionPrompt    = "session.prompt"    // PromptParams → Receipt
	MethodSessionExpand    = "session.expand"    // PromptParams → Expansion
	MethodSessionShell     = "session.shell"     // ShellParams → ShellRun
	MethodSessionInbox     = "session.inbox"     // SessionParams → Inbox
	MethodSessionInterrupt = "session.interrupt" // SessionParams → CommandReceipt
	MethodSessionResume    = "session.resume"    // SessionParams → CommandReceipt
	MethodSessionCompact   = "session.compact"   // SessionParams → CommandReceipt
	MethodSessionChange    = "session.change"    // ChangeSessionParams → Session
	MethodSessionMove      = "session.move"      // MoveSessionParams → Session
	MethodSessionFork      = "session.fork"      // ForkSessionParams → Session
	MethodSessionRemove    = "session.remove"    // SessionParams → RemovedSessions
	MethodSessionPrune     = "session.prune"     // SessionParams → PrunedSession
	MethodSessionChildren  = "session.children"  // SessionParams → SessionList
	MethodSessionUsage     = "session.usage"     // SessionParams → SessionUsage
	MethodSessionContext   = "session.context"   // SessionParams → ContextReport
	MethodContextMetrics   = "context.metrics"   // nothing → ContextMetrics
	MethodSessionRevert    = "session.revert"    // RevertParams → Session
	MethodRevertClear      = "revert.clear"      // SessionParams → Session
	MethodRevertCommit     = "revert.commit"     // SessionParams → Session
	MethodSessionChanges   = "session.changes"   // ChangesParams → ChangeList
	MethodInboxCancel      = "inbox.cancel"      // InboxParams → Receipt
	MethodInboxChange      = "inbox.change"      // ChangePromptParams → Receipt
	MethodPermissionsList  = "permissions.list"  // PermissionsParams → PermissionList
	MethodPermissionReply  = "permission.reply"  // ReplyParams → PermissionReceipt
	MethodQuestionsList    = "questions.list"    // QuestionsParams → QuestionList
	MethodQuestionAnswer   = "question.answer"   // AnswerParams → QuestionReceipt
	MethodQuestionDismiss  = "question.dismiss"  // DismissParams → QuestionReceipt
	MethodApprovalsList    = "approvals.list"    // ApprovalsParams → ApprovalList
	MethodApprovalRemove   = "approval.remove"   // ApprovalParams → nothing
	MethodSessionTodos     = "session.todos"     // SessionParams → TodoList
	MethodPluginsList      = "plugins.list"      // nothing → PluginList
	MethodPluginsSync      = "plugins.sync"      // SyncPlugins → PluginSync
	MethodPluginsLock      = "plugins.lock"      // nothing → PluginLock
	MethodPluginGet        = "plugin.get"        // PluginParams → Plugin
	MethodPluginAdd        = "plugin.add"        // AddPlugin → Plugin
	MethodPluginChange     = "plugin.change"     // ChangePluginParams → Plugin
	MethodPluginRemove     = "plugin.remove"     // RemovePluginParams → nothing
	MethodPluginsTrust     = "plugins.trust"     // TrustFolder → TrustedFolder
	MethodPluginsDistrust  = "plugins.distrust"  // TrustFolder → nothing
	MethodPluginsReload    = "plugins.reload"    // nothing → PluginList
	MethodAgentsList       = "agents.list"       // In → AgentList
	MethodCommandsList     = "commands.list"     // In → CommandList
	MethodSkillsList       = "skills.list"       // In → SkillList
	MethodModelsList       = "models.list"       // ListModels → ModelList
)

// MaxKey bounds the key of a command, in bytes.
const MaxKey = 128

// NoParams are the parameters of a method that takes none.
type NoParams struct{}

// SessionParams names a session.
type SessionParams struct {
	SessionID string `json:"sessionID"`
}

// PromptParams are a session and a prompt to it.
type PromptParams struct {
	SessionID string `json:"sessionID"`
	Prompt
}

// ShellParams are a session and a command line to run in it.
type ShellParams struct {
	SessionID string `json:"sessionID"`
	RunShell
}

// ChangeSessionParams are a session and what changes of it.
type ChangeSessionParams struct {
	SessionID string `json:"sessionID"`
	ChangeSession
}

// MoveSessionParams are a session and where it goes.
type MoveSessionParams struct {
	SessionID string `json:"sessionID"`
	MoveSession
}

// ForkSessionParams are a session and the fork that is made of it.
type ForkSessionParams struct {
	SessionID string `json:"sessionID"`
	ForkSession
}

// InboxParams name a prompt in a session's inbox.
type InboxParams struct {
	SessionID string `json:"sessionID"`
	ID        string `json:"id"`
}

// ChangePromptParams are a prompt in an inbox and what changes of it.
type ChangePromptParams struct {
	InboxParams
	ChangePrompt
}

// MessagesParams are a session and a selection of its messages.
type MessagesParams struct {
	SessionID string `json:"sessionID"`
	ListMessages
}

// PermissionsParams narrow the open permissions to one session and those under it;
// all when empty.
type PermissionsParams struct {
	SessionID string `json:"sessionID,omitempty"`
}

// ReplyParams are a permission and the reply to it.
type ReplyParams struct {
	ID string `json:"id"`
	PermissionReply
}

// QuestionsParams narrow the open questions to one session and those under it; all
// when empty.
type QuestionsParams struct {
	SessionID string `json:"sessionID,omitempty"`
}

// AnswerParams are a question and the answer to it.
type AnswerParams struct {
	ID string `json:"id"`
	QuestionAnswer
}

// DismissParams name a question.
type DismissParams struct {
	ID string `json:"id"`
}

// ApprovalsParams narrow the approvals to the project with this root; all when empty.
type ApprovalsParams struct {
	Root string `json:"root,omitempty"`
}

// ApprovalParams name an approval.
type ApprovalParams struct {
	ID string `json:"id"`
}

// PluginParams name a plugin in a scope.
type PluginParams struct {
	ID       string `json:"id"`
	Location string `json:"location,omitempty"`
}

// ChangePluginParams are a plugin and what becomes of it.
type ChangePluginParams struct {
	PluginParams
	ChangePlugin
}

// RemovePluginParams are a plugin and how it is removed.
type RemovePluginParams struct {
	PluginParams
	RemovePlugin
}

// Health answers /healthz and /readyz.
type Health struct {
	Status  string `json:"status"` // "ok"
	Version string `json:"version"`
}
