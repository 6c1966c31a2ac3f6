use super::fields::fields;
use super::{unset, Blob, Bytes, Json, Location, Session};
use serde::Serialize;

/// The body of `plinth_tool_execute`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolExecute {
    /// The manifest's name.
    pub tool: String,
    /// The model's arguments exactly as it wrote them.
    pub input: Json,
    /// The call within its message.
    pub call: ToolCall,
    /// The session that calls.
    pub session: Session,
    /// Where it works.
    pub location: Location,
}
fields!(ToolExecute: tool, input, call, session, location);

/// Names the call within its assistant message.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolCall {
    /// Of the call.
    pub id: String,
    /// Of the message.
    pub message: String,
}
fields!(ToolCall: id, message);

/// The ok of `plinth_tool_execute`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolOutput {
    /// What the model sees.
    #[serde(skip_serializing_if = "unset")]
    pub content: Vec<Content>,
    /// The same for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Json>,
    /// A few words for a person.
    #[serde(skip_serializing_if = "unset")]
    pub title: String,
    /// For clients, not for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}
fields!(ToolOutput: content by nullable, structured by present, title, metadata by present);

/// One part of what the model sees: text, or a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Content {
    /// `text` or `file`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The text.
    #[serde(skip_serializing_if = "unset")]
    pub text: String,
    /// Of a file.
    #[serde(skip_serializing_if = "unset")]
    pub mime: String,
    /// Of a file.
    #[serde(skip_serializing_if = "unset")]
    pub name: String,
    /// A file's content in the raw bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Bytes>,
    /// A file's content at the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<Blob>,
}
fields!(Content: kind as "type", text, mime, name, data, blob);
