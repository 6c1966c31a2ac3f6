use super::{nullable, unset, Location, Session};
use serde::{Deserialize, Serialize};

/// The request of `task.run`: a prompt for a session of its own, whose answer is waited
/// for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskRun {
    /// A few words.
    pub description: String,
    /// What it is told.
    pub prompt: String,
    /// What it runs as.
    pub agent: String,
    /// Goes on with that of an earlier task of this session.
    #[serde(skip_serializing_if = "unset")]
    pub session: String,
    /// Answers at once; the result reaches the session as a message.
    #[serde(skip_serializing_if = "unset")]
    pub background: bool,
}

/// Its ok.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskRan {
    /// Its id.
    pub session: String,
    /// The last answer; empty in the background.
    #[serde(skip_serializing_if = "unset")]
    pub text: String,
}

/// An item of the session's list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Todo {
    /// Not empty.
    pub id: String,
    /// What is to be done.
    pub content: String,
    /// `pending`, `in_progress`, `completed` or `cancelled`.
    pub status: String,
    /// `high`, `medium` or `low`.
    pub priority: String,
}

/// The ok of `todo.get`, and the request and ok of `todo.set`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TodoList {
    /// At most 200.
    #[serde(deserialize_with = "nullable")]
    pub todos: Vec<Todo>,
}

/// A text that tells an agent how to do something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Skill {
    /// Of the skill.
    pub name: String,
    /// What it is for.
    pub description: String,
}

/// The ok of `skill.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkillListed {
    /// By name.
    #[serde(deserialize_with = "nullable")]
    pub skills: Vec<Skill>,
}

/// The request of `skill.get`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkillGet {
    /// Of the skill.
    pub name: String,
}

/// Its ok.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkillText {
    /// Of the skill.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// All of it.
    pub text: String,
    /// Where the skill's other files are, absolute; empty when there are none.
    #[serde(skip_serializing_if = "unset")]
    pub directory: String,
}

/// The ok of `session.info`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionInfo {
    /// Which session.
    pub session: Session,
    /// Where it works.
    pub location: Location,
    /// Of the session.
    #[serde(skip_serializing_if = "unset")]
    pub title: String,
    /// `PROVIDER/MODEL`.
    #[serde(skip_serializing_if = "unset")]
    pub model: String,
}
