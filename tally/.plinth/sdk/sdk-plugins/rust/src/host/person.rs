use super::ask;
use crate::abi::{self, PermissionAsk, PermissionCheck, PermissionChecked, Question, QuestionAnswered, QuestionAsk};
use crate::abi::{OP_PERMISSION_ASK, OP_PERMISSION_CHECK, OP_QUESTION_ASK};
use crate::Result;

/// Asks whether an action may be done to the resources, which may wait for a person. What
/// is allowed is so for the rest of the call; the kind of a refusal is `Denied`.
pub fn permit<R: Into<String>>(action: &str, resources: impl IntoIterator<Item = R>) -> Result<()> {
    let request = PermissionAsk { action: action.into(), resources: resources.into_iter().map(Into::into).collect() };
    ask::<_, abi::None>(OP_PERMISSION_ASK, &request).map(drop)
}

/// Answers `allow`, `ask` or `deny` for each resource and asks nobody.
pub fn check<R: Into<String>>(action: &str, resources: impl IntoIterator<Item = R>) -> Result<Vec<String>> {
    let request = PermissionCheck { action: action.into(), resources: resources.into_iter().map(Into::into).collect() };
    Ok(ask::<_, PermissionChecked>(OP_PERMISSION_CHECK, &request)?.effects)
}

/// Puts questions to the person who follows the session and waits. Answers, for each, the
/// labels that were chosen or the text that was written.
pub fn question(questions: impl IntoIterator<Item = Question>) -> Result<Vec<Vec<String>>> {
    let request = QuestionAsk { questions: questions.into_iter().collect() };
    Ok(ask::<_, QuestionAnswered>(OP_QUESTION_ASK, &request)?.answers)
}
