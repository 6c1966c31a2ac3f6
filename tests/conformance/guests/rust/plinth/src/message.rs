//! Messages: `u32 little-endian length | JSON | bytes`.

use crate::error::{Error, Kind};
use serde_json::{json, Value};

/// Splits a message into its JSON and the bytes behind it.
pub fn split(message: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let malformed = || Error::new(Kind::InvalidInput, "the host's message is malformed");
    let length = message.get(..4).ok_or_else(malformed)?;
    let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
    let rest = &message[4..];
    if length > rest.len() {
        return Err(malformed());
    }
    Ok(rest.split_at(length))
}

/// Frames JSON and the bytes it refers to.
pub fn frame(body: &Value, bytes: &[u8]) -> Vec<u8> {
    let text = body.to_string();
    let mut message = Vec::with_capacity(4 + text.len() + bytes.len());
    message.extend_from_slice(&(text.len() as u32).to_le_bytes());
    message.extend_from_slice(text.as_bytes());
    message.extend_from_slice(bytes);
    message
}

/// A reference to a run of a message's bytes, as it stands in JSON.
pub fn reference(offset: usize, length: usize) -> Value {
    json!({ "$bytes": [offset, length] })
}

/// The run of bytes that a reference names.
pub fn referred<'a>(reference: &Value, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let run = reference.get("$bytes")?;
    let offset = run.get(0)?.as_u64()? as usize;
    let length = run.get(1)?.as_u64()? as usize;
    bytes.get(offset..offset.checked_add(length)?)
}

/// A request to an entry.
pub struct Call {
    /// How long the call may take from now, in milliseconds.
    pub deadline_ms: i64,
    pub meta: Value,
    pub body: Value,
}

/// A handler answers one call.
pub type Handler = fn(Call) -> Result<Answer, Error>;

/// Has a handler answer a message; both are whole.
pub(crate) fn serve(message: &[u8], handler: Handler) -> Vec<u8> {
    parse(message).and_then(handler).unwrap_or_else(|error| error.answer()).encode()
}

fn parse(message: &[u8]) -> Result<Call, Error> {
    let (body, _) = split(message)?;
    let mut call: Value = serde_json::from_slice(body)?;
    Ok(Call { deadline_ms: call["deadline_ms"].as_i64().unwrap_or(0), meta: call["meta"].take(), body: call["body"].take() })
}

/// Reads the host's answer to an operation: its ok with the bytes that came along. A
/// failure keeps the host's kind.
pub(crate) fn reply(operation: &str, answer: &[u8]) -> Result<(Value, Vec<u8>), Error> {
    let (body, bytes) = split(answer)?;
    let mut body: Value = serde_json::from_slice(body)?;
    if let Some(error) = body.get("error") {
        let text = |field: &str| error[field].as_str().unwrap_or_default().to_string();
        return Err(Error::new(Kind::named(&text("kind")), text("message")));
    }
    match body.get_mut("ok") {
        Some(ok) => Ok((ok.take(), bytes.to_vec())),
        None => Err(Error::new(Kind::Failed, format!("the answer of {operation} has neither ok nor error"))),
    }
}

/// An answer with the bytes its JSON refers to.
pub struct Answer {
    body: Value,
    bytes: Vec<u8>,
}

impl Answer {
    /// `{"ok": ok}`.
    pub fn ok(ok: Value) -> Answer {
        Answer::with_bytes(ok, Vec::new())
    }

    pub fn with_bytes(ok: Value, bytes: Vec<u8>) -> Answer {
        Answer { body: json!({ "ok": ok }), bytes }
    }

    pub(crate) fn whole(body: Value) -> Answer {
        Answer { body, bytes: Vec::new() }
    }

    fn encode(&self) -> Vec<u8> {
        frame(&self.body, &self.bytes)
    }
}
