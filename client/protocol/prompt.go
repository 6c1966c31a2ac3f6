package protocol

import "time"

// Delivery is when an admitted prompt joins the conversation.
type Delivery string

// The deliveries.
const (
	// Steer joins the running activity at its next safe boundary.
	Steer Delivery = "steer"
	// Queue opens an activity of its own when the ones before have settled.
	Queue Delivery = "queue"
)

// Prompt is what a client sends to a session.
type Prompt struct {
	// ID is the message's id, "msg_…", made by the client or the server. The same
	// ID with the same prompt and delivery answers the same receipt, with another
	// one it is a conflict.
	ID string `json:"id,omitempty"`
	// Delivery is steer when empty.
	Delivery Delivery `json:"delivery,omitempty"`
	// Resume false admits without waking the session; absent is true.
	Resume *bool `json:"resume,omitempty"`
	// Expand reads what the text mentions with @, and the files that are paths, before
	// the prompt is admitted.
	Expand bool `json:"expand,omitempty"`
	// Command makes the text of a template, in the place of Text; it expands by itself.
	Command *CommandCall `json:"command,omitempty"`
	// Strict admits nothing when something cannot be expanded.
	Strict bool `json:"strict,omitempty"`
	PromptBody
}

// CommandCall is a command with what is given to it.
type CommandCall struct {
	Name string `json:"name"`
	// Arguments are one text, from which $1 to $9 are taken as a shell splits words.
	Arguments string `json:"arguments,omitempty"`
}

// Expanded is what became of a part of a prompt's text.
type Expanded struct {
	// Kind is file, directory, media, agent, reference or shell, and mention for what is
	// none of them.
	Kind string `json:"kind"`
	// Name is what it stands for: the file's, the agent's or the reference's.
	Name   string  `json:"name,omitempty"`
	Source *Source `json:"source,omitempty"`
	// Note is what there is to say of it, Error why nothing came of it. The model reads
	// both.
	Note  string `json:"note,omitempty"`
	Error string `json:"error,omitempty"`
}

// Expansion is an expanded prompt that was not admitted.
type Expansion struct {
	Prompt   PromptBody `json:"prompt"`
	Expanded []Expanded `json:"expanded"`
}

// PromptBody is the part of a prompt that a retry must repeat exactly.
type PromptBody struct {
	Text       string    `json:"text,omitempty"`
	Files      []File    `json:"files,omitempty"`
	Agents     []Mention `json:"agents,omitempty"`
	References []Mention `json:"references,omitempty"`
	Agent      string    `json:"agent,omitempty"`
	Model      *ModelRef `json:"model,omitempty"`
	Variant    string    `json:"variant,omitempty"`
	System     string    `json:"system,omitempty"`
	// Tools turns tools on or off by name for this prompt.
	Tools map[string]bool `json:"tools,omitempty"`
	// Format is a JSON Schema the answer must fit.
	Format   Raw `json:"format,omitempty"`
	Metadata Raw `json:"metadata,omitempty"`
	// Notes are what the host said of the text when it expanded it.
	Notes []Note `json:"notes,omitempty"`
}

// Note says of a part of a prompt's text what became of it.
type Note struct {
	Kind   string  `json:"kind"`
	Text   string  `json:"text"`
	Failed bool    `json:"failed,omitempty"`
	Source *Source `json:"source,omitempty"`
}

// File is an attachment: a blob the server has, with the path where it was read, or a
// path alone that is read before the prompt is admitted, where Expand says so.
type File struct {
	Blob   string  `json:"blob,omitempty"`
	Path   string  `json:"path,omitempty"`
	Mime   string  `json:"mime,omitempty"`
	Name   string  `json:"name,omitempty"`
	Source *Source `json:"source,omitempty"`
}

// Mention is an agent or a configured reference named in the text. Path and Description
// are of a reference as it was when it was expanded.
type Mention struct {
	Name        string  `json:"name"`
	Path        string  `json:"path,omitempty"`
	Description string  `json:"description,omitempty"`
	Source      *Source `json:"source,omitempty"`
}

// Source is the place in the prompt's text that something stands for, in UTF-8
// bytes, End exclusive.
type Source struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text,omitempty"`
}

// Receipt says that a prompt was admitted: it is durable and nothing more.
type Receipt struct {
	ID          string   `json:"id"`
	SessionID   string   `json:"sessionID"`
	Delivery    Delivery `json:"delivery"`
	AdmittedSeq int64    `json:"admittedSeq"`
	// PromotedSeq is set once the prompt is part of the conversation.
	PromotedSeq *int64 `json:"promotedSeq,omitempty"`
	// CancelledSeq is set when the prompt was taken out of the inbox.
	CancelledSeq *int64 `json:"cancelledSeq,omitempty"`
	// Synthetic: the host wrote the prompt.
	Synthetic bool       `json:"synthetic,omitempty"`
	Time      time.Time  `json:"time"`
	Prompt    PromptBody `json:"prompt"`
	// Expanded is in the answer to a prompt that was to be expanded.
	Expanded []Expanded `json:"expanded,omitempty"`
	Cursor   string     `json:"cursor,omitempty"`
}

// PromptAnswer answers a prompt: the receipt, and with ?wait=settled the result.
type PromptAnswer struct {
	Receipt
	Result *PromptResult `json:"result,omitempty"`
}

// Outcome is how the work on a prompt ended.
type Outcome string

// The outcomes.
const (
	OutcomeCompleted   Outcome = "completed"
	OutcomeFailed      Outcome = "failed"
	OutcomeInterrupted Outcome = "interrupted"
	OutcomeHalted      Outcome = "halted" // a person declined
)

// PromptResult is what became of a prompt once its activity has settled.
type PromptResult struct {
	Outcome Outcome `json:"outcome"`
	// Text is the text of the last assistant message.
	Text string `json:"text"`
	// Structured is the answer that fits the prompt's format; absent without a format,
	// and where the model gave none.
	Structured Raw `json:"structured,omitempty"`
	// Messages are those that followed the prompt, in order.
	Messages []Message `json:"messages,omitempty"`
	Error    *Failure  `json:"error,omitempty"`
	Usage    *Usage    `json:"usage,omitempty"`
	Cursor   string    `json:"cursor,omitempty"`
}

// Failure is why a step, an activity or a tool call failed.
type Failure struct {
	// Code is the kernel's word for it, such as "rate_limit" or "not_found".
	Code    string `json:"code"`
	Message string `json:"message"`
	// Status is the provider's HTTP status, when there was one.
	Status    int  `json:"status,omitempty"`
	Retryable bool `json:"retryable,omitempty"`
}

// Inbox lists the prompts that were admitted and are not part of the
// conversation yet, in the order in which they will be.
type Inbox struct {
	Pending []Receipt `json:"pending"`
	Cursor  string    `json:"cursor,omitempty"`
}

// ChangePrompt changes a prompt that waits. What is absent stays.
type ChangePrompt struct {
	// Prompt replaces the whole body.
	Prompt   *PromptBody `json:"prompt,omitempty"`
	Delivery Delivery    `json:"delivery,omitempty"`
	// Before is the prompt to come before; empty is last.
	Before *string `json:"before,omitempty"`
}
