use super::fields::fields;
use super::{unset, Json};
use serde::Serialize;
use std::collections::BTreeMap;

/// The body of `plinth_provider_encode`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProviderEncode {
    /// The manifest's provider id.
    pub provider: String,
    /// What to encode.
    pub request: ModelRequest,
}
fields!(ProviderEncode: provider, request);

/// Its ok: the HTTP request that the host will make.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProviderEncoded {
    /// `POST` and the like.
    pub method: String,
    /// Relative to the operator's base URL.
    pub path: String,
    /// Behind the path.
    #[serde(skip_serializing_if = "unset")]
    pub query: BTreeMap<String, String>,
    /// Without credentials, which the host puts in.
    #[serde(skip_serializing_if = "unset")]
    pub headers: BTreeMap<String, String>,
    /// JSON, which may hold a [`BlobText`] in the place of a string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Json>,
}
fields!(ProviderEncoded: method, path, query by nullable, headers by nullable, body by present);

/// Stands in the body of a [`ProviderEncoded`] for a JSON string that the host puts in
/// while it sends the request, so that a file never passes through the guest:
///
/// ```json
/// {"$blob": "<SHA-256 in hexadecimal>", "as": "data_url", "mime": "image/png"}
/// ```
///
/// Only blobs of this very request's media parts may be named; for any other, and for an
/// unknown `as`, the request fails as the codec's fault. JSON that reaches a codec as it
/// is (a tool's input and schema, a hosted tool's result, metadata, options) is to be
/// passed on byte by byte, as [`Json`] does: the host has written such a key in it so
/// that it names no blob.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BlobText {
    /// SHA-256 of the bytes in hexadecimal.
    #[serde(rename = "$blob")]
    pub digest: String,
    /// [`BLOB_BASE64`] or [`BLOB_DATA_URL`].
    #[serde(rename = "as")]
    pub form: String,
    /// Of a data URL; like `image/png`.
    #[serde(skip_serializing_if = "unset")]
    pub mime: String,
}
fields!(BlobText: digest as "$blob", form as "as", mime);

/// Standard alphabet, padded.
pub const BLOB_BASE64: &str = "base64";
/// `data:MIME;base64,…`
pub const BLOB_DATA_URL: &str = "data_url";

/// One model request in neutral words.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ModelRequest {
    /// `turn`, `compaction` or `title`.
    pub purpose: String,
    /// The provider's name of the model.
    pub model: String,
    /// The system text.
    #[serde(skip_serializing_if = "unset")]
    pub system: Vec<TextPart>,
    /// The history.
    pub messages: Vec<Message>,
    /// What the model may call.
    #[serde(skip_serializing_if = "unset")]
    pub tools: Vec<ToolDefinition>,
    /// `auto`, `none` or `required`.
    #[serde(skip_serializing_if = "unset")]
    pub tool_choice: String,
    /// The neutral controls.
    pub generation: Generation,
    /// The provider's own.
    #[serde(skip_serializing_if = "unset")]
    pub options: BTreeMap<String, Json>,
    /// Stable over a session, at most 64 bytes.
    #[serde(skip_serializing_if = "unset")]
    pub cache_key: String,
}
fields!(ModelRequest:
    purpose, model, system by nullable, messages by nullable, tools by nullable, tool_choice, generation,
    options by nullable, cache_key
);

/// Text with an id by which a transform can name it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TextPart {
    /// Of the part.
    pub id: String,
    /// The text.
    pub text: String,
}
fields!(TextPart: id, text);

/// One message of the history.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Message {
    /// Of the message.
    pub id: String,
    /// [`ROLE_USER`], [`ROLE_ASSISTANT`], [`ROLE_TOOL`] or [`ROLE_SYSTEM`].
    pub role: String,
    /// What it says.
    pub parts: Vec<Part>,
}
fields!(Message: id, role, parts by nullable);

/// One part of a message.
///
/// A media part is a file: `mime`, `blob`, and a `name` where it has one. In a message of
/// role user it is what the user attached. In a message of role tool it belongs to the
/// tool_result before it, whose `call` it has; the result's text names the file too, so a
/// codec leaves out what the model or the protocol cannot take. Its bytes get into the
/// request by a [`BlobText`].
///
/// A hosted tool_call is one that the provider ran. Its tool_result is the next part of
/// the same message, of role assistant. For the model that made them the two have what
/// the codec told of each: the call the metadata of its end, the result its `result` and
/// its own metadata, or the call's where it had none. For any other model, and for a
/// protocol that knows no such tools, there are `input`, `text` and `error` to retell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Part {
    /// By which a transform can name it.
    #[serde(skip_serializing_if = "unset")]
    pub id: String,
    /// [`PART_TEXT`], [`PART_REASONING`], [`PART_MEDIA`], [`PART_TOOL_CALL`] or
    /// [`PART_TOOL_RESULT`].
    #[serde(rename = "type")]
    pub kind: String,
    /// The text.
    #[serde(skip_serializing_if = "unset")]
    pub text: String,
    /// The call's id, for tool_call, tool_result and the media of a result.
    #[serde(skip_serializing_if = "unset")]
    pub call: String,
    /// Of the tool, or of a medium's file.
    #[serde(skip_serializing_if = "unset")]
    pub name: String,
    /// A tool_call's arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// Set on a tool_result that failed.
    #[serde(skip_serializing_if = "unset")]
    pub error: bool,
    /// Of a medium.
    #[serde(skip_serializing_if = "unset")]
    pub mime: String,
    /// SHA-256 of a medium's bytes in hexadecimal.
    #[serde(skip_serializing_if = "unset")]
    pub blob: String,
    /// The provider's own, only for the model that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Set on the tool_call and the tool_result of a tool that the provider ran.
    #[serde(skip_serializing_if = "unset")]
    pub hosted: bool,
    /// What a hosted tool answered, in the form its codec told it in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
}
fields!(Part:
    id, kind as "type", text, call, name, input by present, error, mime, blob, metadata by present, hosted,
    result by present
);

/// A part of text.
pub const PART_TEXT: &str = "text";
/// A part of reasoning.
pub const PART_REASONING: &str = "reasoning";
/// A part that is a file.
pub const PART_MEDIA: &str = "media";
/// A part that calls a tool.
pub const PART_TOOL_CALL: &str = "tool_call";
/// A part that tells what came of a call.
pub const PART_TOOL_RESULT: &str = "tool_result";

/// What the user says.
pub const ROLE_USER: &str = "user";
/// What the model says.
pub const ROLE_ASSISTANT: &str = "assistant";
/// What tools answer.
pub const ROLE_TOOL: &str = "tool";
/// A chronological update of the system text.
pub const ROLE_SYSTEM: &str = "system";

/// One tool as the model is told of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolDefinition {
    /// Of the tool.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its input.
    pub input: Json,
}
fields!(ToolDefinition: name, description, input);

/// The provider-neutral controls; what is `None` is not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Generation {
    /// The most of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<i64>,
    /// How free the choice is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The share of the likeliest words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// To get the same again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// Texts that end the answer.
    #[serde(skip_serializing_if = "unset")]
    pub stop: Vec<String>,
}
fields!(Generation: max_tokens, temperature, top_p, seed, stop by nullable);

/// The body of `plinth_provider_decode`. The same frames cut differently give the same
/// events.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProviderDecode {
    /// The manifest's provider id.
    pub provider: String,
    /// What the previous decode of this stream answered; absent at first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Json>,
    /// What came.
    pub frames: Vec<Frame>,
    /// Set once, when the response's body is through.
    pub end: bool,
}
fields!(ProviderDecode: provider, state, frames by nullable, end);

/// One frame of the response: an SSE event, a line, a message of AWS, or a piece as it
/// came.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Frame {
    /// The event's name, where the framing has one.
    #[serde(skip_serializing_if = "unset")]
    pub event: String,
    /// What the frame holds.
    pub data: String,
}
fields!(Frame: event, data);

/// Its ok.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProviderDecoded {
    /// For the next decode of this stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Json>,
    /// In order.
    pub events: Vec<ModelEvent>,
}
fields!(ProviderDecoded: state by present, events by nullable);

/// One event of a model's answer. The host accumulates: a codec answers fragments only. A
/// fragment of a new id opens its part, `finish` closes what is open.
///
/// A tool that the provider runs itself is hosted: its call is told like another, with
/// `hosted` at its start, the host runs nothing, and `tool.result` tells once what came of
/// it, in this same stream. A result ends the call's arguments where `tool.end` did not. A
/// result of more than 4 MiB, or metadata of more than 1 MiB, ends the stream as the
/// codec's fault.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ModelEvent {
    /// One of the `EVENT_` constants.
    #[serde(rename = "type")]
    pub kind: String,
    /// Names the part within the stream, or the tool call.
    #[serde(skip_serializing_if = "unset")]
    pub id: String,
    /// Of `tool.start`.
    #[serde(skip_serializing_if = "unset")]
    pub name: String,
    /// Of the fragments; of a `tool.result` for people and for other models.
    #[serde(skip_serializing_if = "unset")]
    pub text: String,
    /// Of `finish`: `stop`, `length`, `tool_calls`, `content_filter` or `unknown`.
    #[serde(skip_serializing_if = "unset")]
    pub reason: String,
    /// Of `usage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What the provider wants back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Of `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ProviderError>,
    /// Says of a `tool.start` that the provider runs the tool.
    #[serde(skip_serializing_if = "unset")]
    pub hosted: bool,
    /// Of a `tool.result`: what the tool answered, in the form in which the codec wants it
    /// back: any JSON but null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// Says that `result` is an error.
    #[serde(skip_serializing_if = "unset")]
    pub failed: bool,
}
fields!(ModelEvent:
    kind as "type", id, name, text, reason, usage, metadata by present, error, hosted, result by present,
    failed
);

/// A fragment of text.
pub const EVENT_TEXT_DELTA: &str = "text.delta";
/// Closes a part of text.
pub const EVENT_TEXT_END: &str = "text.end";
/// A fragment of reasoning.
pub const EVENT_REASONING_DELTA: &str = "reasoning.delta";
/// Closes a part of reasoning.
pub const EVENT_REASONING_END: &str = "reasoning.end";
/// Opens a tool call.
pub const EVENT_TOOL_START: &str = "tool.start";
/// A fragment of a tool call's arguments.
pub const EVENT_TOOL_DELTA: &str = "tool.delta";
/// A tool call's arguments are complete.
pub const EVENT_TOOL_END: &str = "tool.end";
/// What came of a hosted tool.
pub const EVENT_TOOL_RESULT: &str = "tool.result";
/// What the answer took.
pub const EVENT_USAGE: &str = "usage";
/// Ends the stream well.
pub const EVENT_FINISH: &str = "finish";
/// Ends the stream with an error.
pub const EVENT_ERROR: &str = "error";

/// Counts tokens. `input` holds cache reads and writes, `output` holds reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Usage {
    /// Of the request.
    pub input: i64,
    /// Of the answer.
    pub output: i64,
    /// Of the output.
    #[serde(skip_serializing_if = "unset")]
    pub reasoning: i64,
    /// Of the input.
    #[serde(skip_serializing_if = "unset")]
    pub cache_read: i64,
    /// Of the input.
    #[serde(skip_serializing_if = "unset")]
    pub cache_write: i64,
}
fields!(Usage: input, output, reasoning, cache_read, cache_write);

/// The body of `plinth_provider_classify`: a response whose status is not 2xx.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProviderClassify {
    /// The manifest's provider id.
    pub provider: String,
    /// Of the response.
    pub status: u16,
    /// Names in lower case.
    #[serde(skip_serializing_if = "unset")]
    pub headers: BTreeMap<String, String>,
    /// Its start, at most 16 KiB.
    pub body: String,
}
fields!(ProviderClassify: provider, status, headers by nullable, body);

/// Its ok, and the error of an `error` event.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProviderError {
    /// One of the `CLASS_` constants.
    pub classification: String,
    /// For a person.
    pub message: String,
    /// The same request may succeed later.
    pub retryable: bool,
    /// How long to wait first.
    #[serde(skip_serializing_if = "unset")]
    pub retry_after_ms: i64,
}
fields!(ProviderError: classification, message, retryable, retry_after_ms);

/// The request is wrong.
pub const CLASS_INVALID_REQUEST: &str = "invalid_request";
/// The request is too long for the model.
pub const CLASS_CONTEXT_OVERFLOW: &str = "context_overflow";
/// The credentials are wrong.
pub const CLASS_AUTHENTICATION: &str = "authentication";
/// Too many requests.
pub const CLASS_RATE_LIMIT: &str = "rate_limit";
/// No money or quota is left.
pub const CLASS_QUOTA: &str = "quota";
/// The provider refuses the content.
pub const CLASS_CONTENT_POLICY: &str = "content_policy";
/// The provider is overloaded.
pub const CLASS_OVERLOADED: &str = "overloaded";
/// The provider failed.
pub const CLASS_INTERNAL: &str = "internal";
/// Anything else.
pub const CLASS_UNKNOWN: &str = "unknown";
