package abi

import "encoding/json"

// ProviderEncode is the body of plinth_provider_encode.
type ProviderEncode struct {
	Provider string       `json:"provider"` // the manifest's provider id
	Request  ModelRequest `json:"request"`  // what is to be asked
}

// ProviderEncoded is its ok: the HTTP request the host will make. Path is
// relative to the operator's base URL.
type ProviderEncoded struct {
	Method  string            `json:"method"`            // POST, or another of HTTP
	Path    string            `json:"path"`              // like chat/completions; not absolute, without a query
	Query   map[string]string `json:"query,omitempty"`   // parameters to add
	Headers map[string]string `json:"headers,omitempty"` // without the secret, which the host puts in
	// Body is JSON. It may hold a BlobText in the place of a string.
	Body json.RawMessage `json:"body,omitempty"`
}

// BlobText stands in a [ProviderEncoded] body for a JSON string that the host puts in
// while it sends the request, so that a file never passes through the guest:
//
//	{"$blob": "<SHA-256 in hexadecimal>", "as": "data_url", "mime": "image/png"}
//
// It is an object of just these members, in any order, whose values are strings. Only
// blobs of this very request's media parts may be named; for any other, and for an
// unknown "as", the request fails as the codec's fault. All other bytes of the body
// are sent as they are.
//
// Text of others cannot name a blob: inside of a JSON string the quotes of such an
// object are escaped, and in JSON that reaches the codec as it is (a tool's input and
// schema, a hosted tool's result, metadata, options) the host has written the key as "\u0024blob". That is
// the same key to every reader of JSON and none to the host, as long as the codec
// passes such JSON on byte by byte.
type BlobText struct {
	Blob
	As   string `json:"as"`             // "base64" or "data_url"
	Mime string `json:"mime,omitempty"` // of a data URL; like image/png
}

// Forms of a BlobText.
const (
	BlobBase64  = "base64"   // standard alphabet, padded
	BlobDataURL = "data_url" // data:MIME;base64,…
)

// ModelRequest is one model request in neutral words.
type ModelRequest struct {
	// Purpose is "turn", "compaction" or "title".
	Purpose    string                     `json:"purpose"`
	Model      string                     `json:"model"`                 // the provider's name of the model
	System     []TextPart                 `json:"system,omitempty"`      // in their order
	Messages   []Message                  `json:"messages"`              // the oldest first
	Tools      []ToolDefinition           `json:"tools,omitempty"`       // those the model may call
	ToolChoice string                     `json:"tool_choice,omitempty"` // "auto", "none", "required"
	Generation Generation                 `json:"generation"`            // how it is to answer
	Options    map[string]json.RawMessage `json:"options,omitempty"`     // the provider's own, by name, from the configuration and transforms
	// CacheKey is stable over a session, at most 64 bytes.
	CacheKey string `json:"cache_key,omitempty"`
}

// TextPart is text with an id by which a transform can name it.
type TextPart struct {
	ID   string `json:"id"`   // like baseline
	Text string `json:"text"` // what the model reads
}

// Message is one message of the history.
type Message struct {
	ID    string `json:"id"`    // of the session's message, like msg_…
	Role  string `json:"role"`  // "user", "assistant", "tool" or "system" (a chronological update)
	Parts []Part `json:"parts"` // in their order
}

// Part is one part of a message.
//
// A media part is a file: Mime, Blob, and a Name where it has one. In a message of
// role user it is what the user attached. In a message of role tool it belongs to the
// tool_result before it, whose Call it has; the result's Text names the file too, so
// a codec leaves out what the model or the protocol cannot take. Its bytes get into
// the request by a [BlobText].
//
// A hosted tool_call is one that the provider ran. Its tool_result is the next part of
// the same message, of role assistant. For the model that made them the two have what
// the codec told of each: the call the Metadata of its end, the result its Result and
// its own Metadata, or the call's where it had none. For any other model, and for a
// protocol that knows no such tools, there are Input, Text and Error to retell.
type Part struct {
	ID   string `json:"id,omitempty"`   // by which a transform names it; empty when it cannot
	Type string `json:"type"`           // "text", "reasoning", "media", "tool_call" or "tool_result"
	Text string `json:"text,omitempty"` // of text, reasoning and tool_result
	// Call is the call's id, for tool_call, tool_result and the media of a result.
	Call string `json:"call,omitempty"`
	Name string `json:"name,omitempty"` // of the tool, or of a medium's file
	// Input is a tool_call's arguments.
	Input json.RawMessage `json:"input,omitempty"`
	// Error is set on a tool_result that failed.
	Error bool   `json:"error,omitempty"`
	Mime  string `json:"mime,omitempty"` // of a medium, like image/png
	Blob  string `json:"blob,omitempty"` // SHA-256 of a medium's bytes in hexadecimal
	// Metadata is the provider's own, only for the model that made it.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Hosted is set on the tool_call and the tool_result of a tool that the provider ran.
	Hosted bool `json:"hosted,omitempty"`
	// Result is what a hosted tool answered, in the form its codec told it in.
	Result json.RawMessage `json:"result,omitempty"`
}

// Types of a part and roles of a message.
const (
	PartText       = "text"
	PartReasoning  = "reasoning"
	PartMedia      = "media"
	PartToolCall   = "tool_call"
	PartToolResult = "tool_result"

	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
	RoleSystem    = "system"
)

// ToolDefinition is one tool as the model is told of it.
type ToolDefinition struct {
	Name        string          `json:"name"`        // as the model calls it
	Description string          `json:"description"` // the model chooses by it
	Input       json.RawMessage `json:"input"`       // JSON Schema of the arguments
}

// Generation holds the provider-neutral controls; nil fields are not sent.
type Generation struct {
	MaxTokens   *int64   `json:"max_tokens,omitempty"`  // tokens of the answer
	Temperature *float64 `json:"temperature,omitempty"` // from 0
	TopP        *float64 `json:"top_p,omitempty"`       // from 0 to 1
	Seed        *int64   `json:"seed,omitempty"`        // for an answer that repeats, where the model can
	Stop        []string `json:"stop,omitempty"`        // texts that end the answer
}

// ProviderDecode is the body of plinth_provider_decode. The same frames cut
// differently give the same events.
type ProviderDecode struct {
	Provider string `json:"provider"` // the manifest's provider id
	// State is what the previous decode of this stream answered; absent at first.
	State  json.RawMessage `json:"state,omitempty"`
	Frames []Frame         `json:"frames"` // in their order; none with End alone; at most 256
	// End is set once, when the response's body is through.
	End bool `json:"end"`
}

// Frame is one frame of the response: an SSE event, a line, a message of AWS, or a piece as it came.
type Frame struct {
	Event string `json:"event,omitempty"` // of sse its event field, of aws-eventstream the event's type; else empty
	Data  string `json:"data"`            // of the frame, without framing; of aws-eventstream its payload
}

// ProviderDecoded is its ok.
type ProviderDecoded struct {
	State  json.RawMessage `json:"state,omitempty"` // handed to the next decode of the stream; keep it small
	Events []ModelEvent    `json:"events"`          // in their order; may be empty
}

// ModelEvent is one event of a model's answer. The host accumulates: a codec
// answers fragments only. A fragment of a new id opens its part, "finish" closes
// what is open.
//
// A tool that the provider runs itself is hosted: its call is told like another, with
// Hosted at its start, the host runs nothing, and "tool.result" tells once what came
// of it, in this same stream. A result ends the call's arguments where "tool.end" did
// not. A result of more than 4 MiB, or Metadata of more than 1 MiB, ends the stream as
// the codec's fault.
type ModelEvent struct {
	Type string `json:"type"` // one of the types below
	// ID names the part within the stream, or the tool call.
	ID       string          `json:"id,omitempty"`
	Name     string          `json:"name,omitempty"`     // tool.start
	Text     string          `json:"text,omitempty"`     // *.delta; of a tool.result for people and for other models
	Reason   string          `json:"reason,omitempty"`   // of finish
	Usage    *Usage          `json:"usage,omitempty"`    // of usage; the last one counts
	Metadata json.RawMessage `json:"metadata,omitempty"` // of an end or a result: handed back with the part, to the same model only
	Error    *ProviderError  `json:"error,omitempty"`    // of error
	// Hosted says of a tool.start that the provider runs the tool.
	Hosted bool `json:"hosted,omitempty"`
	// Result of a tool.result is what the tool answered, in the form in which the codec
	// wants it back: any JSON but null. Failed says that it is an error.
	Result json.RawMessage `json:"result,omitempty"`
	Failed bool            `json:"failed,omitempty"` // of a tool.result: it is an error
}

// Types of a model event.
const (
	EventTextDelta      = "text.delta"
	EventTextEnd        = "text.end"
	EventReasoningDelta = "reasoning.delta"
	EventReasoningEnd   = "reasoning.end"
	EventToolStart      = "tool.start"
	EventToolDelta      = "tool.delta"
	EventToolEnd        = "tool.end"
	EventToolResult     = "tool.result" // of a hosted tool
	EventUsage          = "usage"
	EventFinish         = "finish" // Reason: stop, length, tool_calls, content_filter, unknown
	EventError          = "error"
)

// Usage counts tokens. Input and Output are inclusive: Input holds cache reads
// and writes, Output holds reasoning.
type Usage struct {
	Input      int64 `json:"input"`                 // tokens sent, cache included
	Output     int64 `json:"output"`                // tokens answered, reasoning included
	Reasoning  int64 `json:"reasoning,omitempty"`   // of Output
	CacheRead  int64 `json:"cache_read,omitempty"`  // of Input, read from a cache
	CacheWrite int64 `json:"cache_write,omitempty"` // of Input, written to a cache
}

// ProviderClassify is the body of plinth_provider_classify: a response whose
// status is not 2xx.
type ProviderClassify struct {
	Provider string            `json:"provider"`          // the manifest's provider id
	Status   int               `json:"status"`            // of HTTP
	Headers  map[string]string `json:"headers,omitempty"` // names in lower case
	Body     string            `json:"body"`              // its start, at most 16 KiB
}

// ProviderError is its ok, and the error of an "error" event.
type ProviderError struct {
	Classification string `json:"classification"`           // one of the classifications below
	Message        string `json:"message"`                  // for a person, the provider's own words where it said any
	Retryable      bool   `json:"retryable"`                // the same request may succeed later
	RetryAfterMS   int64  `json:"retry_after_ms,omitempty"` // how long to wait, milliseconds; 0 when it did not say
}

// Classifications.
const (
	ClassInvalidRequest  = "invalid_request"
	ClassContextOverflow = "context_overflow"
	ClassAuthentication  = "authentication"
	ClassRateLimit       = "rate_limit"
	ClassQuota           = "quota"
	ClassContentPolicy   = "content_policy"
	ClassOverloaded      = "overloaded"
	ClassInternal        = "internal"
	ClassUnknown         = "unknown"
)
