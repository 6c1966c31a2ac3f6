//! Version 1 of the contract: every message that crosses the boundary, as the types of
//! `abi/v1`. Comments give units and limits. Fields that are missing in a message have
//! their default, fields that this version does not know are passed over, and what is
//! empty is left out where the contract allows it: the same JSON, byte for byte, as the
//! SDK for Go writes.
//!
//! Sets of words that may grow are texts with constants, not enums, so that a word of a
//! newer host does not make a whole message unreadable.

mod call;
mod context;
mod fields;
mod files;
mod http;
mod json;
mod kv;
mod message;
mod operation;
mod permission;
mod process;
mod provider;
mod session;
mod tool;
mod transform;

pub use call::*;
pub use context::*;
pub use files::*;
pub use http::*;
pub use json::*;
pub use kv::*;
pub use message::*;
pub use operation::*;
pub use permission::*;
pub use process::*;
pub use provider::*;
pub use session::*;
pub use tool::*;
pub use transform::*;

/// Whether a field is left out.
pub(crate) fn unset<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
