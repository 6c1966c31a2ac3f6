use super::fields::fields;
use crate::{Error, Kind, Result};
use serde::Serialize;

/// Refers to a run of a message's raw bytes: `{"$bytes": [offset, length]}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bytes {
    /// Offset and length.
    #[serde(rename = "$bytes")]
    pub run: [u64; 2],
}
fields!(Bytes: run as "$bytes");

impl Bytes {
    /// The run of `length` bytes from `offset`.
    pub fn new(offset: usize, length: usize) -> Bytes {
        Bytes { run: [offset as u64, length as u64] }
    }

    /// The bytes that it refers to.
    pub fn of<'a>(&self, raw: &'a [u8]) -> Result<&'a [u8]> {
        let [offset, length] = self.run;
        let run = usize::try_from(offset).ok().zip(usize::try_from(length).ok());
        run.and_then(|(offset, length)| raw.get(offset..offset.checked_add(length)?))
            .ok_or_else(|| Error::invalid_input(format!("malformed message: $bytes [{offset}, {length}] lies outside of {} raw bytes", raw.len())))
    }
}

/// Frames JSON and the raw bytes that it refers to: `u32 little-endian length | JSON |
/// bytes`.
pub fn encode_message(body: &[u8], raw: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(4 + body.len() + raw.len());
    message.extend_from_slice(&[0; 4]);
    message.extend_from_slice(body);
    seal(&mut message);
    message.extend_from_slice(raw);
    message
}

/// Puts the length in front of a message whose JSON is complete.
pub(crate) fn seal(message: &mut [u8]) {
    let length = (message.len() - 4) as u32;
    message[..4].copy_from_slice(&length.to_le_bytes());
}

/// Splits a message into its JSON and its raw bytes.
pub fn decode_message(message: &[u8]) -> Result<(&[u8], &[u8])> {
    let malformed = || Error::new(Kind::InvalidInput, "malformed message");
    let (length, rest) = message.split_first_chunk().ok_or_else(malformed)?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > rest.len() {
        return Err(malformed());
    }
    Ok(rest.split_at(length))
}
