use super::fields::fields;
use super::{Bytes, Error, Json};
use serde::Serialize;

/// Operations side by side: [`Batch`].
pub const OP_BATCH: &str = "batch";
/// A line for the plugin's log: [`Log`].
pub const OP_LOG: &str = "log";
/// A line for who watches: [`Progress`].
pub const OP_PROGRESS: &str = "progress";
/// Describes a file: [`Path`](super::Path).
pub const OP_FS_STAT: &str = "fs.stat";
/// A directory's children: [`FsList`](super::FsList).
pub const OP_FS_LIST: &str = "fs.list";
/// A range of a file: [`FsRead`](super::FsRead).
pub const OP_FS_READ: &str = "fs.read";
/// Keeps a file at the host: [`Path`](super::Path).
pub const OP_FS_ATTACH: &str = "fs.attach";
/// Files by their path: [`FsGlob`](super::FsGlob).
pub const OP_FS_GLOB: &str = "fs.glob";
/// Lines by what is in them: [`FsGrep`](super::FsGrep).
pub const OP_FS_GREP: &str = "fs.grep";
/// Changes files: [`FsCommit`](super::FsCommit).
pub const OP_FS_COMMIT: &str = "fs.commit";
/// A value of the store: [`KvGet`](super::KvGet).
pub const OP_KV_GET: &str = "kv.get";
/// Stores a value: [`KvSet`](super::KvSet).
pub const OP_KV_SET: &str = "kv.set";
/// Takes a value out: [`KvDelete`](super::KvDelete).
pub const OP_KV_DELETE: &str = "kv.delete";
/// The store's keys: [`KvList`](super::KvList).
pub const OP_KV_LIST: &str = "kv.list";
/// Runs a command: [`ProcessRun`](super::ProcessRun).
pub const OP_PROCESS_RUN: &str = "process.run";
/// Makes an HTTP request: [`HttpFetch`](super::HttpFetch).
pub const OP_HTTP_FETCH: &str = "http.fetch";
/// Asks for a permission: [`PermissionAsk`](super::PermissionAsk).
pub const OP_PERMISSION_ASK: &str = "permission.ask";
/// What would be said: [`PermissionCheck`](super::PermissionCheck).
pub const OP_PERMISSION_CHECK: &str = "permission.check";
/// Asks a person: [`QuestionAsk`](super::QuestionAsk).
pub const OP_QUESTION_ASK: &str = "question.ask";
/// A session of its own: [`TaskRun`](super::TaskRun).
pub const OP_TASK_RUN: &str = "task.run";
/// The session's list: [`None`](super::None).
pub const OP_TODO_GET: &str = "todo.get";
/// Replaces the list: [`TodoList`](super::TodoList).
pub const OP_TODO_SET: &str = "todo.set";
/// The skills: [`None`](super::None).
pub const OP_SKILL_LIST: &str = "skill.list";
/// A skill's text: [`SkillGet`](super::SkillGet).
pub const OP_SKILL_GET: &str = "skill.get";
/// The session: [`None`](super::None).
pub const OP_SESSION_INFO: &str = "session.info";

/// The request of `log`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Log {
    /// `debug`, `info`, `warn` or `error`.
    pub level: String,
    /// At most 8 KiB.
    pub message: String,
}
fields!(Log: level, message);

/// The request of `progress`: a line about a tool call under way.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Progress {
    /// The line.
    pub text: String,
}
fields!(Progress: text);

/// The request of `batch`: operations that are carried out side by side. The order in
/// which they begin is not defined. A batch holds no batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Batch {
    /// 1 to 100.
    pub operations: Vec<BatchOperation>,
}
fields!(Batch: operations by nullable);

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BatchOperation {
    /// Its name.
    pub operation: String,
    /// References to bytes count from the beginning of the batch's raw bytes.
    pub request: Json,
}
fields!(BatchOperation: operation, request);

/// The ok of `batch`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BatchOk {
    /// One for each operation, in their order.
    pub answers: Vec<BatchAnswer>,
}
fields!(BatchOk: answers by nullable);

/// The answer to one operation: exactly one of `ok` and `error` is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BatchAnswer {
    /// References to bytes count from the beginning of `bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ok: Option<Json>,
    /// Why nothing came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// Its raw bytes; absent when it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
}
fields!(BatchAnswer: ok by present, error, bytes);

/// A large value that the host keeps. A guest may use those that it was given in the same
/// call.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Blob {
    /// SHA-256 of the bytes in hexadecimal.
    #[serde(rename = "$blob")]
    pub digest: String,
}
fields!(Blob: digest as "$blob");

impl Blob {
    /// The blob of a digest.
    pub fn new(digest: impl Into<String>) -> Blob {
        Blob { digest: digest.into() }
    }
}
