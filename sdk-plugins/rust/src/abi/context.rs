use super::fields::fields;
use super::{unset, Json, Location, Session};
use serde::Serialize;
use std::collections::BTreeMap;

/// The body of `plinth_context_observe`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ContextObserve {
    /// The session that is observed for.
    pub session: Session,
    /// Where it works.
    pub location: Location,
    /// The instant of the sample, milliseconds since 1970 UTC.
    pub now_ms: i64,
    /// What the session's next request goes to, `PROVIDER/MODEL`; empty when there is no
    /// such model now.
    #[serde(skip_serializing_if = "unset")]
    pub model: String,
    /// Those in which tools of the session read files: paths from the project's root,
    /// without the root itself, ascending; at most 256.
    #[serde(skip_serializing_if = "unset")]
    pub directories: Vec<String>,
    /// The value last admitted, by source key.
    #[serde(skip_serializing_if = "unset")]
    pub previous: BTreeMap<String, Json>,
}
fields!(ContextObserve: session, location, now_ms, model, directories by nullable, previous by nullable);

/// Its ok: the state of every source, from one sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ContextObserved {
    /// In the order in which the model reads them.
    pub sources: Vec<SourceState>,
}
fields!(ContextObserved: sources by nullable);

/// One context source as sampled.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SourceState {
    /// The manifest's key.
    pub key: String,
    /// [`SOURCE_VALUE`], [`SOURCE_UNAVAILABLE`] or [`SOURCE_ABSENT`].
    pub state: String,
    /// Compared as canonical JSON with the value admitted before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    /// The full text; never empty for a value.
    #[serde(skip_serializing_if = "unset")]
    pub baseline: String,
    /// Told when the value differs from the previous one; the baseline when empty.
    #[serde(skip_serializing_if = "unset")]
    pub update: String,
    /// Told when the source is gone later; empty when it cannot be removed.
    #[serde(skip_serializing_if = "unset")]
    pub removed: String,
}
fields!(SourceState: key, state, value by present, baseline, update, removed);

/// The source has a value.
pub const SOURCE_VALUE: &str = "value";
/// The source could not be observed.
pub const SOURCE_UNAVAILABLE: &str = "unavailable";
/// The source was looked for and is not there.
pub const SOURCE_ABSENT: &str = "absent";
