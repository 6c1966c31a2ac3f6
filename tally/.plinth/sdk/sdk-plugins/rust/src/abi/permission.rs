use super::{nullable, unset};
use serde::{Deserialize, Serialize};

/// The request of `permission.ask`: may the action be done to these resources? What is
/// allowed is not asked again in the rest of the call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PermissionAsk {
    /// 1 to 64 bytes.
    pub action: String,
    /// 1 to 100.
    #[serde(deserialize_with = "nullable")]
    pub resources: Vec<String>,
}

/// The request of `permission.check`: what would be said, without asking anybody.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PermissionCheck {
    /// 1 to 64 bytes.
    pub action: String,
    /// 1 to 1,000.
    #[serde(deserialize_with = "nullable")]
    pub resources: Vec<String>,
}

/// Its ok.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PermissionChecked {
    /// `allow`, `ask` or `deny` for each resource.
    #[serde(deserialize_with = "nullable")]
    pub effects: Vec<String>,
}

/// The request of `question.ask`: the person who follows the session chooses or writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuestionAsk {
    /// 1 to 10.
    #[serde(deserialize_with = "nullable")]
    pub questions: Vec<Question>,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// A few words.
    pub header: String,
    /// The question.
    pub text: String,
    /// What to choose of; without any, `custom` must be set.
    #[serde(skip_serializing_if = "unset", deserialize_with = "nullable")]
    pub options: Vec<QuestionOption>,
    /// Several may be chosen.
    #[serde(skip_serializing_if = "unset")]
    pub multiple: bool,
    /// Lets the person write an answer of their own.
    #[serde(skip_serializing_if = "unset")]
    pub custom: bool,
}

/// An answer to choose.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuestionOption {
    /// What is chosen, and answered.
    pub label: String,
    /// More about it.
    #[serde(skip_serializing_if = "unset")]
    pub description: String,
}

/// The ok of `question.ask`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuestionAnswered {
    /// For each question the chosen labels, or the text.
    #[serde(deserialize_with = "nullable")]
    pub answers: Vec<Vec<String>>,
}
