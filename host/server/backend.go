package server

import (
	"context"
	"io"

	"github.com/plinthhost/plinth/client/protocol"
)

// Backend is what the server shows to clients. Its methods answer *protocol.Error
// where a client shall know the reason; any other error is logged and told as
// internal, without its text. They may be called at the same time from many
// goroutines.
type Backend struct {
	Sessions      Sessions
	Prompts       Prompts
	Commands      Commands
	Skills        Skills
	Shells        Shells
	Blobs         Blobs
	Waiting       Waiting
	Control       Control
	Life          Life
	Reports       Reports
	Contexts      Contexts
	Reverts       Reverts
	Permissions   Permissions
	Questions     Questions
	Plugins       Plugins
	Locks         PluginLocks
	Agents        Agents
	Models        Models
	Transfers     Transfers
	Rehearsals    Rehearsals
	PluginWatches PluginWatches
	Events        Events
	Deltas        Deltas
	// Access and Tokens are usually one *TokenStore.
	Access Access
	Tokens Tokens
	// Ready answers why the host cannot serve yet, nil when it can.
	Ready func(ctx context.Context) error
}

// Caller is who makes a command.
type Caller struct {
	// Actor is recorded in the events the command makes: "token:ID" or "local:UID".
	Actor string
	// Key makes a command without an id repeatable: the same actor with the same key
	// has one effect, and with another request under it a conflict. Empty when the
	// client sent none.
	Key string
	// Trace is the W3C traceparent of the request, or empty.
	Trace string
	// Approves: it may answer permissions, and so set rules that answer them.
	Approves bool
}

// Sessions creates and reads sessions. An unknown id is not_found, a deleted one
// gone.
type Sessions interface {
	// Create makes the session, or answers the one with that id and false.
	Create(ctx context.Context, caller Caller, request protocol.CreateSession) (session protocol.Session, created bool, err error)
	Get(ctx context.Context, id string) (protocol.Session, error)
	// List answers a page; request.Limit is set and at most 200.
	List(ctx context.Context, request protocol.ListSessions) (protocol.SessionList, error)
	// Messages answers messages with Seq greater than request.After; Limit is set
	// and at most 200.
	Messages(ctx context.Context, session string, request protocol.ListMessages) (protocol.MessageList, error)
}

// Prompts admits prompts and tells what became of them.
type Prompts interface {
	// Admit makes the prompt durable and answers its receipt; nothing has run. The
	// same id with another prompt is a conflict. One to expand is expanded first, once;
	// what it has to ask for a person is asked as long as ctx lasts.
	Admit(ctx context.Context, caller Caller, session string, prompt protocol.Prompt) (protocol.Receipt, error)
	// Wait answers when the activity that the message joined has settled.
	Wait(ctx context.Context, session, message string) (protocol.PromptResult, error)
	Inbox(ctx context.Context, session string) (protocol.Inbox, error)
	// Expand answers what Admit would admit, asks nobody and admits nothing.
	Expand(ctx context.Context, caller Caller, session string, prompt protocol.Prompt) (protocol.Expansion, error)
}

// Commands are the prompts that were written beforehand.
type Commands interface {
	List(ctx context.Context, in protocol.In) (protocol.CommandList, error)
}

// Skills are the texts that agents may load.
type Skills interface {
	List(ctx context.Context, in protocol.In) (protocol.SkillList, error)
}

// Shells run what people run in sessions.
type Shells interface {
	// Run starts the command, once for its id, and answers how it is then.
	Run(ctx context.Context, caller Caller, session string, shell protocol.RunShell) (protocol.ShellRun, error)
	// Wait answers when the command has ended.
	Wait(ctx context.Context, session, id string) (protocol.ShellRun, error)
}

// Blobs keep files.
type Blobs interface {
	// Put stores the bytes, durably, and answers their SHA-256 as 64 hex digits. The
	// same bytes are stored once. It does not hold on to value.
	Put(ctx context.Context, value []byte) (digest string, err error)
}

// Waiting changes prompts that wait. One that the session has taken, or that was
// cancelled, is a conflict; one of another session is not_found.
type Waiting interface {
	Cancel(ctx context.Context, caller Caller, session, id string) (protocol.Receipt, error)
	// Change does all of the change, or nothing.
	Change(ctx context.Context, caller Caller, session, id string, change protocol.ChangePrompt) (protocol.Receipt, error)
}

// Control starts and stops the work of a session, and says with what it goes on.
type Control interface {
	// Interrupt answers when the work has stopped and was cleaned up.
	Interrupt(ctx context.Context, caller Caller, session string) (protocol.CommandReceipt, error)
	Resume(ctx context.Context, caller Caller, session string) (protocol.CommandReceipt, error)
	// Compact asks for a summary in the place of the older history, and does not wait.
	Compact(ctx context.Context, caller Caller, session string) (protocol.CommandReceipt, error)
	// Change does all of the change, or nothing.
	Change(ctx context.Context, caller Caller, session string, change protocol.ChangeSession) (protocol.Session, error)
	Move(ctx context.Context, caller Caller, session string, move protocol.MoveSession) (protocol.Session, error)
}

// Life makes a session of another one, and takes sessions and their history away.
type Life interface {
	// Fork makes the session, or answers the fork with that id and false.
	Fork(ctx context.Context, caller Caller, session string, fork protocol.ForkSession) (forked protocol.Session, created bool, err error)
	// Remove answers when the session and all under it are stopped and gone. One that
	// was removed before is no error.
	Remove(ctx context.Context, caller Caller, session string) (protocol.RemovedSessions, error)
	// Prune is a conflict while the session works, or something waits in it.
	Prune(ctx context.Context, caller Caller, session string) (protocol.PrunedSession, error)
}

// Reports tell what a session led to.
type Reports interface {
	// Children answers the sessions that its calls made, oldest first.
	Children(ctx context.Context, session string) (protocol.SessionList, error)
	Usage(ctx context.Context, session string) (protocol.SessionUsage, error)
}

// Contexts tell what models are told.
type Contexts interface {
	// Report is of a session's next request. It records nothing.
	Report(ctx context.Context, session string) (protocol.ContextReport, error)
	Metrics(ctx context.Context) (protocol.ContextMetrics, error)
}

// Permissions are what waits for a person to allow it, and what people allowed for
// always.
type Permissions interface {
	// List answers the open ones of a session and those under it, of all when session
	// is empty.
	List(ctx context.Context, session string) (protocol.PermissionList, error)
	Reply(ctx context.Context, caller Caller, id string, reply protocol.PermissionReply) (protocol.PermissionReceipt, error)
	// Approvals answers those of a project, of all when root is empty.
	Approvals(ctx context.Context, root string) (protocol.ApprovalList, error)
	// RemoveApproval ends one; not_found when there is none.
	RemoveApproval(ctx context.Context, caller Caller, id string) error
}

// Questions are what agents ask people, and the lists they keep.
type Questions interface {
	// List answers the open ones of a session and those under it, of all when session
	// is empty.
	List(ctx context.Context, session string) (protocol.QuestionList, error)
	Answer(ctx context.Context, caller Caller, id string, answer protocol.QuestionAnswer) (protocol.QuestionReceipt, error)
	Dismiss(ctx context.Context, caller Caller, id string) (protocol.QuestionReceipt, error)
	Todos(ctx context.Context, session string) (protocol.TodoList, error)
}

// Plugins tells what became of the plugins and changes that. An unknown one is
// not_found; what cannot be done as things stand is a conflict; a version that does not
// come to serve is bad_request with one sentence that says why, and what served goes on.
type Plugins interface {
	List(ctx context.Context) (protocol.PluginList, error)
	Get(ctx context.Context, plugin protocol.PluginParams) (protocol.Plugin, error)
	// Upload takes a packed plugin, has it proved, and answers it when it serves or is held.
	Upload(ctx context.Context, caller Caller, upload PluginUpload) (protocol.Plugin, error)
	// Add does that with one it downloads.
	Add(ctx context.Context, caller Caller, request protocol.AddPlugin) (protocol.Plugin, error)
	Change(ctx context.Context, caller Caller, plugin protocol.PluginParams, change protocol.ChangePlugin) (protocol.Plugin, error)
	Remove(ctx context.Context, caller Caller, plugin protocol.PluginParams, removal protocol.RemovePlugin) error
	Trust(ctx context.Context, caller Caller, folder protocol.TrustFolder) (protocol.TrustedFolder, error)
	Distrust(ctx context.Context, caller Caller, folder protocol.TrustFolder) error
	// Reload reads the configuration again. One that is wrong changes nothing.
	Reload(ctx context.Context, caller Caller) (protocol.PluginList, error)
}

// PluginUpload is a packed plugin that was sent.
type PluginUpload struct {
	Wasm     []byte
	Origin   string   // for people; what the sender calls it
	Location string   // a folder of the project it is for; empty for the global level
	Grants   []string // keys of requests; nil leaves it to earlier approvals
}

// PluginLocks keeps the plugins as the host's plinth.lock says.
type PluginLocks interface {
	Sync(ctx context.Context, caller Caller, sync protocol.SyncPlugins) (protocol.PluginSync, error)
	Lock(ctx context.Context) (protocol.PluginLock, error)
}

// Agents tells which agents there are.
type Agents interface {
	List(ctx context.Context, in protocol.In) (protocol.AgentList, error)
}

// Models tells which models may be chosen and what is known of them.
type Models interface {
	// List answers them; an unknown provider is not_found. What keeps a provider's
	// server from telling its models is a warning.
	List(ctx context.Context, request protocol.ListModels) (protocol.ModelList, error)
}

// Download writes an answer. What was written before an error is not whole.
type Download func(ctx context.Context, to io.Writer) error

// Transfers carries sessions and whole stores in and out.
type Transfers interface {
	// Export answers a file of the session that Import takes elsewhere; with those that
	// its calls made when children is set. Nothing is read from the log before it is
	// written.
	Export(ctx context.Context, session string, children bool) (Download, error)
	// Import takes a file whole, or nothing of it.
	Import(ctx context.Context, caller Caller, from io.Reader) (protocol.ImportResult, error)
	// Share answers the transcript for people. The format is one of protocol.ShareFormats.
	Share(ctx context.Context, session string, share protocol.ShareSession) (Download, error)
	// Backup makes one on the host's machine.
	Backup(ctx context.Context, backup protocol.CreateBackup) (protocol.Backup, error)
}

// Events reads the event logs of the sessions, and under protocol.HostEvents that of the
// host, which is there even when it is empty.
type Events interface {
	// LogID names the incarnation of the log; it does not change while it is open.
	LogID() string
	// Read answers up to limit events with Seq > after, in order. Cursor is left to
	// the server. When events after that place were pruned the page has none, and
	// First says what can be read.
	Read(ctx context.Context, session string, after int64, limit int) (EventPage, error)
	// Watch registers for commits. Registering comes before the first read, so
	// nothing falls between.
	Watch(session string) Wake
}

// EventPage is a consecutive run of a session's events.
type EventPage struct {
	Events []protocol.Event
	// Head is the last sequence of the session, First the lowest that can be read,
	// both as of the read.
	Head  int64
	First int64
	// More is set when events after the page existed already.
	More bool
}

// Wake is an advisory signal that loses count but never the last poke.
type Wake interface {
	C() <-chan struct{}
	// Close ends the registration. Safe twice.
	Close()
}

// Deltas shows the parts that are still streaming.
type Deltas interface {
	// Watch registers for growth of the session's open parts.
	Watch(session string) Wake
	// Open answers them with their whole text so far, in the order they began. A
	// part is in it until the durable event that carries it whole can be read.
	Open(session string) []protocol.OpenPart
}

// Access decides who a caller is.
type Access interface {
	// Verify answers the token's principal; unauthenticated when there is none.
	Verify(ctx context.Context, secret string) (Principal, error)
	// Watch calls revoked once when the token is revoked; unauthenticated when it
	// was already. Stop ends the registration; it may be called twice.
	Watch(ctx context.Context, token string, revoked func()) (stop func(), err error)
}

// Tokens makes and ends tokens.
type Tokens interface {
	// Create makes the token. A second time under the caller's key it is a conflict:
	// the secret is told once, so the answer cannot be repeated.
	Create(ctx context.Context, caller Caller, request protocol.CreateToken) (protocol.CreatedToken, error)
	List(ctx context.Context) (protocol.TokenList, error)
	// Revoke ends the token; not_found when there is none.
	Revoke(ctx context.Context, id string) error
}
