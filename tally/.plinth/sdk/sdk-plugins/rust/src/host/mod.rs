//! What a plugin may ask of the program that runs it. Every operation needs a grant and
//! obeys the call's deadline. Failures keep the host's kind: [`Kind::NotFound`] tells a
//! missing file from a refusal.
//!
//! Calling any of these makes the module import host operations, which providers and
//! transforms may not.
//!
//! [`Kind::NotFound`]: crate::Kind::NotFound

mod batch;
mod files;
mod kv;
mod outside;
mod person;
mod session;

pub use batch::{Batch, Queued, Ran};
pub use files::{attach, commit, glob, grep, list, read, stat, Change, File};
pub use kv::{kv_delete, kv_get, kv_list, kv_set};
pub use outside::{fetch, run, Response};
pub use person::{check, permit, question};
pub use session::{info, set_todos, skill, skills, task, todos};

use crate::abi::{self, encode_message, Json, OP_PROGRESS};
use crate::guest::{operate, reply};
use crate::{Error, Result};
use serde::de::DeserializeOwned;
use serde::Serialize;

/// Shows a line to who watches the tool call that is under way.
pub fn progress(line: impl AsRef<str>) {
    let _ = ask::<_, abi::None>(OP_PROGRESS, &abi::Progress { text: line.as_ref().into() });
}

/// Asks for an operation by name: one that this module has no function for, because it is
/// newer. `raw` is laid behind the request, where its `$bytes` find it. Answers the ok and
/// the raw bytes that came with it.
pub fn call<A: DeserializeOwned>(operation: &str, request: &impl Serialize, raw: &[u8]) -> Result<(A, Vec<u8>)> {
    let body = abi::to_vec(request).map_err(|error| error.context(format!("encode the request of {operation}")))?;
    let (ok, raw) = exchange(operation, &body, raw)?;
    Ok((read_ok(operation, &ok)?, raw))
}

fn exchange(operation: &str, body: &[u8], raw: &[u8]) -> Result<(Json, Vec<u8>)> {
    reply(operation, &operate(operation, &encode_message(body, raw)))
}

fn read_ok<A: DeserializeOwned>(operation: &str, ok: &Json) -> Result<A> {
    ok.read().map_err(|error| unreadable(operation, error))
}

fn unreadable(operation: &str, error: Error) -> Error {
    Error::failed(format!("read the answer of {operation}: {}", error.message))
}

/// [`call`] where no bytes come or go.
pub(crate) fn ask<Q: Serialize, A: DeserializeOwned>(operation: &str, request: &Q) -> Result<A> {
    Ok(call(operation, request, &[])?.0)
}
