package session

// CompactionRequested: somebody asks for a compaction. It is made at the next
// boundary, or at once in an idle session.
type CompactionRequested struct{}

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
	// Usage and Cost (nano-dollars) are of the summary; nil when unknown.
	Usage *Usage `json:"usage,omitempty"`
	Cost  *int64 `json:"cost,omitempty"`
}

// CompactionFailed leaves the history as it is.
type CompactionFailed struct {
	Message string           `json:"message"`
	Reason  CompactionReason `json:"reason"`
	Error   Failure          `json:"error"`
	Usage   *Usage           `json:"usage,omitempty"`
	Cost    *int64           `json:"cost,omitempty"`
}

// ResultsPruned: the model is sent a note in the place of these calls' results from
// now on. The transcript keeps them.
type ResultsPruned struct {
	Calls []CallRef `json:"calls"`
}

// CallRef names a tool call.
type CallRef struct {
	Message string `json:"message"`
	Call    string `json:"call"`
}

// Reminded tells the model something that the host has to say at this place. It is a
// system message of the history, so that what follows has the same beginning.
type Reminded struct {
	Message string `json:"message"`
	Text    string `json:"text"`
}

// DirectoriesRead: tools read files in these directories, which instructions may stand
// beside.
type DirectoriesRead struct {
	// Directories are absolute, inside the Location's root, ascending, and new to the session.
	Directories []string `json:"directories"`
}

// RevertStaged: the session goes on from an earlier message once the next prompt is
// promoted, and its files are as they were then.
type RevertStaged struct {
	Revert Revert `json:"revert"`
}

// Revert is a return to an earlier place of the conversation.
type Revert struct {
	// Message is the first one to go; Boundary is the sequence of the last that stays.
	Message  string `json:"message"`
	Boundary int64  `json:"boundary"`
	// Snapshot names the files as they were before; empty when none were restored.
	Snapshot string     `json:"snapshot,omitempty"`
	Files    []FileDiff `json:"files,omitempty"` // what was restored
	// Target names the state that Files were restored to; empty when none were.
	Target string `json:"target,omitempty"`
	// Restoring: the files are on their way, each in the one state or the other. Until
	// it is recorded again without, whoever goes on restores them first.
	Restoring bool `json:"restoring,omitempty"`
	// Unrestored are paths that could not be restored and are as they were, ascending;
	// Files has none of them.
	Unrestored []string `json:"unrestored,omitempty"`
}

// RevertCleared: nothing is reverted after all; the files are as before again.
type RevertCleared struct {
	// Snapshot names the files as they were until then; empty when none were restored.
	Snapshot string `json:"snapshot,omitempty"`
	// Unrestored are paths that could not be put back, ascending.
	Unrestored []string `json:"unrestored,omitempty"`
}

// RevertCommitted takes the messages after Boundary out of the conversation. Its
// context epoch is over.
type RevertCommitted struct {
	Boundary int64 `json:"boundary"`
	// Unrestored are paths that could not be restored, ascending, of a revert whose files
	// were still on their way.
	Unrestored []string `json:"unrestored,omitempty"`
}

// HistoryPruned: what was before this event is no longer kept. It says what the
// session is, and MessageImported follow it in the same append.
type HistoryPruned struct {
	// Session is the whole of its row.
	Session Session `json:"session"`
	Todos   []Todo  `json:"todos,omitempty"`
	Totals  Totals  `json:"totals"`
	// Directories were read by tools.
	Directories []string `json:"directories,omitempty"`
}

// MessageImported carries a whole message that was made elsewhere: in the session this
// one was forked from, before a pruning, or in another program.
type MessageImported struct {
	// Message has no Seq: its place is that of this event.
	Message Message `json:"message"`
	// Open: what it asks for is not done yet, as it is otherwise. Of prompts only.
	Open bool `json:"open,omitempty"`
}

// EventType names the kind.
func (CompactionRequested) EventType() string { return "session.compaction.requested" }
func (CompactionStarted) EventType() string   { return "session.compaction.started" }
func (CompactionEnded) EventType() string     { return "session.compaction.ended" }
func (CompactionFailed) EventType() string    { return "session.compaction.failed" }
func (ResultsPruned) EventType() string       { return "session.results.pruned" }
func (Reminded) EventType() string            { return "session.reminded" }
func (DirectoriesRead) EventType() string     { return "session.directories.read" }
func (RevertStaged) EventType() string        { return "session.revert.staged" }
func (RevertCleared) EventType() string       { return "session.revert.cleared" }
func (RevertCommitted) EventType() string     { return "session.revert.committed" }
func (HistoryPruned) EventType() string       { return "session.history.pruned" }
func (MessageImported) EventType() string     { return "session.message.imported" }
