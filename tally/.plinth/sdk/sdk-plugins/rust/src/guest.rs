//! The boundary seen from inside: the module's memory, its entries and the host behind
//! them. Under WebAssembly the host is the program that runs the module, natively it is
//! what a test has put there. Not part of what the crate promises.

use crate::abi::{self, decode_message, seal};
use crate::{Error, Json, Result};
use serde::de::DeserializeOwned;
use serde::Serialize;

/// Answers one call: both are whole messages.
pub type Handler = fn(&[u8]) -> Vec<u8>;

#[cfg(target_arch = "wasm32")]
#[path = "guest_wasm.rs"]
mod boundary;
#[cfg(not(target_arch = "wasm32"))]
#[path = "guest_native.rs"]
mod boundary;

pub use boundary::*;

/// Reads a call.
pub(crate) fn read<T: DeserializeOwned + Default>(message: &[u8]) -> Result<abi::Call<T>> {
    let unreadable = |error: String| Error::invalid_input(format!("the host's message: {error}"));
    let (body, _) = decode_message(message).map_err(|error| unreadable(error.message))?;
    serde_json::from_slice(body).map_err(|error| unreadable(error.to_string()))
}

/// The answer of a handler.
pub(crate) fn answer<T: Serialize>(answered: Result<T>) -> Vec<u8> {
    match answered {
        Ok(value) => ok(&value, &[]),
        Err(error) => fail(&error),
    }
}

/// The answer `{"ok": value}` with raw bytes behind it.
pub(crate) fn ok<T: Serialize>(value: &T, raw: &[u8]) -> Vec<u8> {
    whole(abi::Answer { ok: Some(value), error: None }, raw).unwrap_or_else(|error| fail(&error.context("encode the answer")))
}

/// The answer `{"error": …}`.
pub(crate) fn fail(error: &Error) -> Vec<u8> {
    whole(abi::Answer::<abi::None> { ok: None, error: Some(error.clone()) }, &[]).unwrap_or_default()
}

fn whole<T: Serialize>(answer: abi::Answer<T>, raw: &[u8]) -> Result<Vec<u8>> {
    let mut message = Vec::with_capacity(256 + raw.len());
    message.extend_from_slice(&[0; 4]);
    abi::append(&mut message, &answer)?;
    seal(&mut message);
    message.extend_from_slice(raw);
    Ok(message)
}

/// Reads an answer to an operation: its ok with the raw bytes that came along. A failure
/// keeps the host's kind.
pub(crate) fn reply(operation: &str, answer: &[u8]) -> Result<(Json, Vec<u8>)> {
    let unreadable = |error: String| Error::failed(format!("read the answer of {operation}: {error}"));
    let (body, raw) = decode_message(answer).map_err(|error| unreadable(error.message))?;
    let body: abi::Answer<Json> = serde_json::from_slice(body).map_err(|error| unreadable(error.to_string()))?;
    match (body.ok, body.error) {
        (_, Some(error)) => Err(error),
        (Some(ok), None) => Ok((ok, raw.to_vec())),
        (None, None) => Err(unreadable("it has neither ok nor error".into())),
    }
}
