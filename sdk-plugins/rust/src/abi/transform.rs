use super::fields::fields;
use super::{unset, Generation, Json, Message, TextPart, ToolDefinition};
use serde::Serialize;
use std::collections::BTreeMap;

/// The body of `plinth_transform_apply`. Only the parts that the manifest declared to
/// read are set.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TransformApply {
    /// The manifest's transform name.
    pub transform: String,
    /// `turn`, `compaction` or `title`.
    pub purpose: String,
    /// What the session works as, or the agent that the host asks for itself, like title.
    #[serde(skip_serializing_if = "unset")]
    pub agent: String,
    /// The system text.
    #[serde(skip_serializing_if = "unset")]
    pub system: Vec<TextPart>,
    /// The history.
    #[serde(skip_serializing_if = "unset")]
    pub messages: Vec<Message>,
    /// What the model may call.
    #[serde(skip_serializing_if = "unset")]
    pub tools: Vec<ToolDefinition>,
    /// The neutral controls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
    /// The provider's own.
    #[serde(skip_serializing_if = "unset")]
    pub options: BTreeMap<String, Json>,
    /// Of the HTTP request.
    #[serde(skip_serializing_if = "unset")]
    pub headers: BTreeMap<String, String>,
}
fields!(TransformApply:
    transform, purpose, agent, system by nullable, messages by nullable, tools by nullable, generation,
    options by nullable, headers by nullable
);

/// Its ok.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TransformEdits {
    /// In the order in which they are made.
    pub edits: Vec<Edit>,
}
fields!(TransformEdits: edits by nullable);

/// Changes one declared part. The host refuses an edit of a part that the manifest did
/// not declare to write.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Edit {
    /// `system`, `messages`, `tools`, `generation`, `options` or `headers`.
    pub part: String,
    /// [`EDIT_APPEND`], [`EDIT_REPLACE`], [`EDIT_DROP`] or [`EDIT_SET`].
    pub op: String,
    /// The part's id, the tool's name, or the field's name.
    pub id: String,
    /// A text for append and replace, the field's value for set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
}
fields!(Edit: part, op, id, value by present);

/// A new system part.
pub const EDIT_APPEND: &str = "append";
/// The text of a system part or of a message's part, the description of a tool.
pub const EDIT_REPLACE: &str = "replace";
/// Takes out a system part or a tool.
pub const EDIT_DROP: &str = "drop";
/// A field of generation, options or headers.
pub const EDIT_SET: &str = "set";
