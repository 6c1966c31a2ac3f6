//! The closed set of error kinds.

use crate::message::Answer;
use serde_json::json;

/// A kind as the wire spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    InvalidInput,
    NotFound,
    Denied,
    Unavailable,
    Conflict,
    Limit,
    Cancelled,
    Timeout,
    Failed,
}

const NAMES: [(Kind, &str); 9] = [
    (Kind::InvalidInput, "invalid_input"),
    (Kind::NotFound, "not_found"),
    (Kind::Denied, "denied"),
    (Kind::Unavailable, "unavailable"),
    (Kind::Conflict, "conflict"),
    (Kind::Limit, "limit"),
    (Kind::Cancelled, "cancelled"),
    (Kind::Timeout, "timeout"),
    (Kind::Failed, "failed"),
];

impl Kind {
    /// The kind of that name; one that this version does not know is `Failed`.
    pub fn named(name: &str) -> Kind {
        NAMES.iter().find(|(_, known)| *known == name).map_or(Kind::Failed, |(kind, _)| *kind)
    }

    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }
}

/// What a call fails with, of the guest or of an operation. The message is read by a
/// person and, from a tool, by the model.
#[derive(Clone, Debug)]
pub struct Error {
    pub kind: Kind,
    pub message: String,
}

impl Error {
    pub fn new(kind: Kind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into() }
    }

    pub(crate) fn answer(&self) -> Answer {
        Answer::whole(json!({ "error": { "kind": self.kind.name(), "message": self.message } }))
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Error {
        Error::new(Kind::InvalidInput, error.to_string())
    }
}
