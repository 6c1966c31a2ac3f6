use super::fields::fields;
use super::{unset, Json};
use serde::{Deserialize, Serialize};

/// The host's minor version that this crate knows.
pub const MINOR: u64 = 0;

/// Every request to an export.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Call<T> {
    /// How long the call may take from now, in milliseconds.
    pub deadline_ms: i64,
    /// On whose behalf the call is made.
    pub meta: Meta,
    /// What the export is asked.
    pub body: T,
}
fields!(Call<T>: deadline_ms, meta, body);

/// On whose behalf a call is made. Empty fields do not apply.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Meta {
    /// The plugin's id.
    #[serde(skip_serializing_if = "unset")]
    pub plugin: String,
    /// The plugin's revision.
    #[serde(skip_serializing_if = "unset")]
    pub revision: String,
    /// The trace that the call belongs to.
    #[serde(skip_serializing_if = "unset")]
    pub trace: String,
}
fields!(Meta: plugin, revision, trace);

/// Every answer: exactly one of its fields is set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer<T> {
    /// What came of the call.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub ok: Option<T>,
    /// Why nothing came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
}

fn none<T>() -> Option<T> {
    None
}

/// An answer that is not ok. The message is written for a person and, from a tool, for
/// the model.
///
/// Any error of the standard library's trait becomes one of the kind
/// [`Failed`](Kind::Failed) by `?`. For that this type is none itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Error {
    /// What sort of failure it is.
    pub kind: Kind,
    /// What went wrong.
    pub message: String,
}
fields!(Error: kind, message);

impl Error {
    /// An error of a kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into() }
    }

    /// The input is wrong.
    pub fn invalid_input(message: impl Into<String>) -> Error {
        Error::new(Kind::InvalidInput, message)
    }

    /// There is no such thing.
    pub fn not_found(message: impl Into<String>) -> Error {
        Error::new(Kind::NotFound, message)
    }

    /// What is needed is not there.
    pub fn unavailable(message: impl Into<String>) -> Error {
        Error::new(Kind::Unavailable, message)
    }

    /// Anything else.
    pub fn failed(message: impl Into<String>) -> Error {
        Error::new(Kind::Failed, message)
    }

    /// The same kind with words in front of the message: `CONTEXT: MESSAGE`.
    pub fn context(self, context: impl std::fmt::Display) -> Error {
        Error { kind: self.kind, message: format!("{context}: {}", self.message) }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}: {}", self.kind.name(), self.message)
    }
}

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Error {
        Error::failed(error.to_string())
    }
}

/// The closed set of error kinds. One that this version does not know is read as
/// [`Failed`](Kind::Failed).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The request is wrong.
    InvalidInput,
    /// There is no such thing.
    NotFound,
    /// No grant, no permission, or outside of what may be reached.
    Denied,
    /// There is no such operation, or what it needs is not there.
    Unavailable,
    /// The thing changed meanwhile.
    Conflict,
    /// A limit was reached.
    Limit,
    /// The call was interrupted.
    Cancelled,
    /// The call's time is over.
    Timeout,
    /// Anything else.
    #[default]
    #[serde(other)]
    Failed,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 9] = [
        Kind::InvalidInput,
        Kind::NotFound,
        Kind::Denied,
        Kind::Unavailable,
        Kind::Conflict,
        Kind::Limit,
        Kind::Cancelled,
        Kind::Timeout,
        Kind::Failed,
    ];

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Kind::InvalidInput => "invalid_input",
            Kind::NotFound => "not_found",
            Kind::Denied => "denied",
            Kind::Unavailable => "unavailable",
            Kind::Conflict => "conflict",
            Kind::Limit => "limit",
            Kind::Cancelled => "cancelled",
            Kind::Timeout => "timeout",
            Kind::Failed => "failed",
        }
    }

    /// The kind of that name; one that this version does not know is `Failed`.
    pub fn named(name: &str) -> Kind {
        Kind::ALL.into_iter().find(|kind| kind.name() == name).unwrap_or_default()
    }
}

/// The body of `plinth_init`: the operator's settings and what the host has.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Init {
    /// The operator's settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Json>,
    /// The host's minor version.
    pub minor: u64,
    /// The operations that the host has.
    #[serde(skip_serializing_if = "unset")]
    pub operations: Vec<String>,
}
fields!(Init: config, minor, operations by nullable);

/// The ok of an export or an operation that answers nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct None {}

/// The session that a call belongs to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// What it runs as.
    pub agent: String,
}
fields!(Session: id, agent);

/// Where the session works.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Location {
    /// The absolute working directory.
    pub directory: String,
    /// The project's root: `directory` or a folder above it.
    pub root: String,
    /// Set when `root` is a git work tree.
    pub git: bool,
    /// `linux` or `darwin`.
    pub platform: String,
    /// The user's offset in minutes east of UTC.
    pub utc_offset: i64,
}
fields!(Location: directory, root, git, platform, utc_offset);
