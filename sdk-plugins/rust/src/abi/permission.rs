use super::fields::fields;
use super::unset;
use serde::Serialize;

/// The request of `permission.ask`: may the action be done to these resources? What is
/// allowed is not asked again in the rest of the call.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PermissionAsk {
    /// 1 to 64 bytes.
    pub action: String,
    /// 1 to 100.
    pub resources: Vec<String>,
}
fields!(PermissionAsk: action, resources by nullable);

/// The request of `permission.check`: what would be said, without asking anybody.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PermissionCheck {
    /// 1 to 64 bytes.
    pub action: String,
    /// 1 to 1,000.
    pub resources: Vec<String>,
}
fields!(PermissionCheck: action, resources by nullable);

/// Its ok.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PermissionChecked {
    /// `allow`, `ask` or `deny` for each resource.
    pub effects: Vec<String>,
}
fields!(PermissionChecked: effects by nullable);

/// The request of `question.ask`: the person who follows the session chooses or writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QuestionAsk {
    /// 1 to 10.
    pub questions: Vec<Question>,
}
fields!(QuestionAsk: questions by nullable);

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Question {
    /// A few words.
    pub header: String,
    /// The question.
    pub text: String,
    /// What to choose of; without any, `custom` must be set.
    #[serde(skip_serializing_if = "unset")]
    pub options: Vec<QuestionOption>,
    /// Several may be chosen.
    #[serde(skip_serializing_if = "unset")]
    pub multiple: bool,
    /// Lets the person write an answer of their own.
    #[serde(skip_serializing_if = "unset")]
    pub custom: bool,
}
fields!(Question: header, text, options by nullable, multiple, custom);

/// An answer to choose.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QuestionOption {
    /// What is chosen, and answered.
    pub label: String,
    /// More about it.
    #[serde(skip_serializing_if = "unset")]
    pub description: String,
}
fields!(QuestionOption: label, description);

/// The ok of `question.ask`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QuestionAnswered {
    /// For each question the chosen labels, or the text.
    pub answers: Vec<Vec<String>>,
}
fields!(QuestionAnswered: answers by nullable);
