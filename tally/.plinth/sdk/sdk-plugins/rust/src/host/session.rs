use super::ask;
use crate::abi::{self, SessionInfo, Skill, SkillGet, SkillListed, SkillText, TaskRan, TaskRun, Todo, TodoList};
use crate::abi::{OP_SESSION_INFO, OP_SKILL_GET, OP_SKILL_LIST, OP_TASK_RUN, OP_TODO_GET, OP_TODO_SET};
use crate::Result;

/// Tells of the session.
pub fn info() -> Result<SessionInfo> {
    ask(OP_SESSION_INFO, &abi::None {})
}

/// Has a prompt worked on in a session of its own and waits for the answer, unless it is
/// to go on in the background.
pub fn task(request: &TaskRun) -> Result<TaskRan> {
    ask(OP_TASK_RUN, request)
}

/// The session's list.
pub fn todos() -> Result<Vec<Todo>> {
    Ok(ask::<_, TodoList>(OP_TODO_GET, &abi::None {})?.todos)
}

/// Puts a list in its place.
pub fn set_todos(todos: impl IntoIterator<Item = Todo>) -> Result<()> {
    let list = TodoList { todos: todos.into_iter().collect() };
    ask::<_, TodoList>(OP_TODO_SET, &list).map(drop)
}

/// The skills that the agent may use.
pub fn skills() -> Result<Vec<Skill>> {
    Ok(ask::<_, SkillListed>(OP_SKILL_LIST, &abi::None {})?.skills)
}

/// A skill by its name.
pub fn skill(name: &str) -> Result<SkillText> {
    ask(OP_SKILL_GET, &SkillGet { name: name.into() })
}
