use super::fields::fields;
use super::{unset, Location, Session};
use serde::Serialize;

/// The request of `task.run`: a prompt for a session of its own, whose answer is waited
/// for.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
fields!(TaskRun: description, prompt, agent, session, background);

/// Its ok.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TaskRan {
    /// Its id.
    pub session: String,
    /// The last answer; empty in the background.
    #[serde(skip_serializing_if = "unset")]
    pub text: String,
}
fields!(TaskRan: session, text);

/// An item of the session's list.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
fields!(Todo: id, content, status, priority);

/// The ok of `todo.get`, and the request and ok of `todo.set`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TodoList {
    /// At most 200.
    pub todos: Vec<Todo>,
}
fields!(TodoList: todos by nullable);

/// A text that tells an agent how to do something.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Skill {
    /// Of the skill.
    pub name: String,
    /// What it is for.
    pub description: String,
}
fields!(Skill: name, description);

/// The ok of `skill.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SkillListed {
    /// By name.
    pub skills: Vec<Skill>,
}
fields!(SkillListed: skills by nullable);

/// The request of `skill.get`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SkillGet {
    /// Of the skill.
    pub name: String,
}
fields!(SkillGet: name);

/// Its ok.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
fields!(SkillText: name, description, text, directory);

/// The ok of `session.info`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
fields!(SessionInfo: session, location, title, model);
