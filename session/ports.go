package session

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// The ports are where the world plugs in. The kernel cannot tell a WebAssembly
// plugin behind one of them from a Go value.

// Provider turns one model request into one stream of model events.
type Provider interface {
	// Stream makes the request and yields what the model answers. A good stream
	// ends with exactly one EventFinish. A failure is yielded once, last, as a
	// *ProviderError where the provider said why. Leaving the loop early ends the
	// request.
	Stream(ctx context.Context, request ModelRequest) iter.Seq2[ModelEvent, error]
}

// Tool is something the model can call.
type Tool interface {
	// Definition is the same at every call.
	Definition() ToolDefinition
	// Execute runs one call. A *ToolError is told to the model as it is; any other
	// error is told as a failure without its detail. ctx ends at the tool's
	// deadline or an interrupt.
	Execute(ctx context.Context, call ToolCall) (ToolOutput, error)
}

// ContextSource observes one or more keyed values of the system context.
type ContextSource interface {
	// Keys are the keys it answers for, the same at every call, ascending.
	Keys() []string
	// Observe answers the state of every key, in the order of rendering, from one
	// sample. An error makes every key unavailable.
	Observe(ctx context.Context, observation Observation) ([]SourceState, error)
}

// SourceSpecifier is a ContextSource that says more of itself.
type SourceSpecifier interface {
	// Spec is the same at every call.
	Spec() SourceSpec
}

// SourceSpec is what a context source declared.
type SourceSpec struct {
	// Required: no session begins an epoch while it is unavailable.
	Required bool
	// Schemas are JSON Schemas of values, by key. A stored value that does not fit is
	// not understood any more.
	Schemas map[string]json.RawMessage
}

// Transform edits declared parts of a model request.
type Transform interface {
	Spec() TransformSpec
	Apply(ctx context.Context, input TransformInput) ([]Edit, error)
}

// Snapshots names states of the files of a Location, to tell later what changed.
type Snapshots interface {
	// Capture answers a name of the files as they are.
	Capture(ctx context.Context, location Location) (snapshot string, err error)
	// Diff answers what changed between two of them, by path.
	Diff(ctx context.Context, location Location, from, to string) ([]FileDiff, error)
	// Restore makes the files of the paths what they were in the snapshot; one that was
	// not there is removed. Nil paths are all that differ.
	Restore(ctx context.Context, location Location, snapshot string, paths []string) (Restored, error)
}

// Restored is what a restoring did. Both lists ascend by path.
type Restored struct {
	// Files were changed.
	Files []FileDiff
	// Left are paths that differ from the snapshot still, because they cannot be
	// restored: something that no snapshot holds is in the way.
	Left []string
}

// Clock tells the time. The zero Offset means UTC.
type Clock interface {
	// Now answers the time with the user's offset from UTC.
	Now() time.Time
}

// Location is where a session works.
type Location struct {
	// Directory is the absolute, canonical working directory.
	Directory string `json:"directory"`
	// Root is the project's root: Directory or a folder above it.
	Root string `json:"root"`
	// Workspace is reserved for placements beyond this machine and always empty.
	Workspace string `json:"workspace,omitempty"`
	// Git is set when Root is a git work tree.
	Git bool `json:"git,omitempty"`
}

// ModelRef names a model: the operator's provider name and the provider's own
// name of the model. Its text is "provider/model".
type ModelRef struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Variant  string `json:"variant,omitempty"`
}

// ModelRequest is one model request in neutral words.
type ModelRequest struct {
	// Purpose is "turn", "compaction" or "title".
	Purpose    string
	Session    string
	Agent      string
	Model      ModelRef
	System     []TextPart
	Messages   []ModelMessage
	Tools      []ToolDefinition
	ToolChoice string // "auto" or "none"
	Generation Generation
	Options    map[string]json.RawMessage
	Headers    map[string]string
	// CacheKey is stable over a session, at most 64 bytes.
	CacheKey string
}

// Purposes of a request: a provider turn, a summary of the history, a title.
const (
	PurposeTurn       = "turn"
	PurposeCompaction = "compaction"
	PurposeTitle      = "title"
)

// Generation holds the provider-neutral controls; nil fields are not sent.
type Generation struct {
	MaxTokens   *int64
	Temperature *float64
	TopP        *float64
	Seed        *int64
	Stop        []string
}

// TextPart is text with an id by which a transform can name it.
type TextPart struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Role is who a model message is from. RoleSystem is a chronological update.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
	RoleSystem    Role = "system"
)

// ModelMessage is one message of the history a model is sent.
type ModelMessage struct {
	ID    string
	Role  Role
	Parts []ModelPart
}

// ModelPart is one part of a model message.
type ModelPart struct {
	ID   string
	Type PartType
	Text string // text, reasoning, and the text of a tool result
	// Call is the tool call's id, for PartToolCall, PartToolResult and the media that
	// follow a result.
	Call  string
	Name  string          // of the tool, or of a medium's file
	Input json.RawMessage // a tool call's arguments as the model wrote them
	Error bool            // a tool result that failed
	Mime  string
	Blob  string // SHA-256 of a medium's bytes
	// Metadata is the provider's own, kept for the model that made it.
	Metadata json.RawMessage
	// Hosted: the provider ran the tool; its result follows the call in the assistant's
	// message, and Result is what it answered.
	Hosted bool
	Result json.RawMessage
}

// PartType is the kind of a part.
type PartType string

// The part types.
const (
	PartText       PartType = "text"
	PartReasoning  PartType = "reasoning"
	PartMedia      PartType = "media"
	PartToolCall   PartType = "tool_call"
	PartToolResult PartType = "tool_result"
)

// ModelEvent is one event of a model's answer. Providers yield fragments; the
// runner accumulates. A fragment of a new id opens its part, EventFinish closes
// what is open.
type ModelEvent struct {
	Type ModelEventType
	// ID names the part within the stream, or the tool call.
	ID       string
	Name     string // EventToolStart
	Text     string // the deltas
	Reason   FinishReason
	Usage    Usage
	Metadata json.RawMessage
	// Hosted: the provider runs the tool itself (EventToolStart).
	Hosted bool
	// Result is what a hosted tool answered, as the provider wants it back
	// (EventToolResult); Text is it for people. Failed says that it is an error.
	Result json.RawMessage
	Failed bool
}

// ModelEventType is the kind of a model event.
type ModelEventType string

// The model events.
const (
	EventTextDelta      ModelEventType = "text.delta"
	EventTextEnd        ModelEventType = "text.end"
	EventReasoningDelta ModelEventType = "reasoning.delta"
	EventReasoningEnd   ModelEventType = "reasoning.end"
	EventToolStart      ModelEventType = "tool.start"
	EventToolDelta      ModelEventType = "tool.delta"
	EventToolEnd        ModelEventType = "tool.end"
	EventToolResult     ModelEventType = "tool.result"
	EventUsage          ModelEventType = "usage"
	EventFinish         ModelEventType = "finish"
)

// FinishReason is why a model stopped.
type FinishReason string

// The reasons.
const (
	FinishStop          FinishReason = "stop"
	FinishLength        FinishReason = "length"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishContentFilter FinishReason = "content_filter"
	FinishUnknown       FinishReason = "unknown"
)

// Usage counts tokens. Input and Output are inclusive: Input holds cache reads
// and writes, Output holds reasoning.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	Reasoning  int64 `json:"reasoning,omitempty"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
}

// ProviderError is a failure a provider described.
type ProviderError struct {
	// Class is one of the ProviderClass constants.
	Class      string
	Message    string
	Status     int // HTTP status, 0 when there was none
	Retryable  bool
	RetryAfter time.Duration
}

func (e *ProviderError) Error() string { return e.Message }

// Classes of a ProviderError.
const (
	ProviderInvalidRequest  = "invalid_request"
	ProviderContextOverflow = "context_overflow"
	ProviderAuthentication  = "authentication"
	ProviderRateLimit       = "rate_limit"
	ProviderQuota           = "quota"
	ProviderContentPolicy   = "content_policy"
	ProviderOverloaded      = "overloaded"
	ProviderInternal        = "internal"
	ProviderTransport       = "transport"  // refused, reset, timed out
	ProviderIncomplete      = "incomplete" // the stream ended without a finish
	ProviderProtocol        = "protocol"   // the answer breaks the provider's format or our grammar
	ProviderUnknown         = "unknown"
)

// ToolDefinition is what is known of a tool without running it.
type ToolDefinition struct {
	Name        string
	Description string
	Input       json.RawMessage // JSON Schema
	Output      json.RawMessage // JSON Schema; optional
	Permission  ToolPermission
	Effects     []string // read, write, exec, network
	Idempotent  bool
	Timeout     time.Duration // 0: the default
}

// ToolPermission says what is asked before a tool runs.
type ToolPermission struct {
	// ByOperation: the tool's operations ask, the tool itself does not.
	ByOperation bool
	Action      string
	// Resource names the input's field that holds the resource; "*" when empty.
	Resource string
}

// ToolCall is one call of a tool.
type ToolCall struct {
	ID       string
	Message  string // the assistant message it belongs to
	Name     string
	Input    json.RawMessage
	Session  string
	Agent    string
	Location Location
	// Deadline bounds the call's running time; its waits do not count.
	Timeout time.Duration
	// Host is what the call may reach of the session.
	Host ToolHost
}

// ToolHost is the session as a running tool call sees it.
type ToolHost interface {
	// Authorise decides on an action under the call's agent. It waits for a
	// person where the rules say ask. Nil is allowed; *DeniedError otherwise.
	Authorise(ctx context.Context, request PermissionRequest) error
	// Effects answers what the rules and saved approvals say of each resource,
	// without asking anybody.
	Effects(ctx context.Context, action string, resources []string) ([]Effect, error)
	// Progress shows a line to who follows the session live. Nothing is stored.
	Progress(text string)
}

// ToolOutput is what a tool answers.
type ToolOutput struct {
	Content    []ToolContent
	Structured json.RawMessage
	Title      string
	Metadata   json.RawMessage
}

// ToolContent is one part of what the model sees of a result.
type ToolContent struct {
	Type string `json:"type"` // "text" or "file"
	Text string `json:"text,omitempty"`
	Mime string `json:"mime,omitempty"`
	Name string `json:"name,omitempty"`
	Blob string `json:"blob,omitempty"`
}

// ToolError is a failure that the model is told as it is.
type ToolError struct {
	// Kind is one of invalid_input, not_found, denied, unavailable, conflict, limit,
	// cancelled, timeout, failed.
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

func (e *ToolError) Error() string { return e.Message }

// Observation is what a context source is asked with.
type Observation struct {
	Session  string
	Agent    string
	Model    ModelRef // zero when there is no such model now
	Location Location
	Now      time.Time
	// Directories are absolute, below the Location's root, and tools read files in them.
	Directories []string
	// Previous holds the value last admitted, by key.
	Previous map[string]json.RawMessage
}

// SourceState is one context source as sampled.
type SourceState struct {
	Key   string
	State SourceStatus
	// Value is compared as canonical JSON with the value admitted before.
	Value    json.RawMessage
	Baseline string // the full text; never empty for a value
	Update   string // told when the value changed; the baseline when empty
	Removed  string // told when the source is gone; empty when it cannot be removed
}

// SourceStatus is whether a source could be sampled.
type SourceStatus string

// The statuses. An absent source was looked for and is not there.
const (
	SourceValue       SourceStatus = "value"
	SourceUnavailable SourceStatus = "unavailable"
	SourceAbsent      SourceStatus = "absent"
)

// TransformSpec is what a transform declared.
type TransformSpec struct {
	Name    string
	Reads   []RequestPart
	Writes  []RequestPart
	Order   int
	OnError string // "fail" or "skip"
	// Timeout is what a call may take; 0 leaves it to who calls.
	Timeout time.Duration
}

// RequestPart names a part of a model request that a transform may read or write.
type RequestPart string

// The request parts.
const (
	RequestSystem     RequestPart = "system"
	RequestMessages   RequestPart = "messages"
	RequestTools      RequestPart = "tools"
	RequestGeneration RequestPart = "generation"
	RequestOptions    RequestPart = "options"
	RequestHeaders    RequestPart = "headers"
)

// TransformInput holds the parts a transform declared to read; the rest is zero.
type TransformInput struct {
	Purpose string
	Agent   string
	// Session is whose request it is; the transform is not shown it.
	Session    string
	System     []TextPart
	Messages   []ModelMessage
	Tools      []ToolDefinition
	Generation Generation
	Options    map[string]json.RawMessage
	Headers    map[string]string
}

// Edit changes one part by a stable id.
type Edit struct {
	Part  RequestPart
	Op    EditOp
	ID    string
	Value json.RawMessage
}

// EditOp is what an edit does.
type EditOp string

// The operations.
const (
	EditAppend  EditOp = "append"
	EditReplace EditOp = "replace"
	EditDrop    EditOp = "drop"
	EditSet     EditOp = "set"
)
