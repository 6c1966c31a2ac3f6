//! Git's index: what it last knew of each tracked file.

use plinth::{Error, Result};

/// A tracked file.
#[derive(Debug, PartialEq)]
pub struct Entry {
    /// From the root of the work tree.
    pub path: String,
    /// In bytes; git keeps the lower 32 bits.
    pub size: u32,
    /// Milliseconds since 1970 UTC.
    pub modified_ms: i64,
    /// It has several versions, of a merge that is not done.
    pub conflicted: bool,
    /// A file, and no link or module of its own.
    pub file: bool,
}

const HEADER: usize = 12;
const FIXED: usize = 62; // of an entry, in front of its path
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;

/// Reads an index of version 2 or 3.
pub fn entries(index: &[u8]) -> Result<Vec<Entry>> {
    let broken = || Error::failed("the index is broken");
    let version = number(index, 4).filter(|_| index.starts_with(b"DIRC")).ok_or_else(broken)?;
    if !(2..=3).contains(&version) {
        return Err(Error::failed(format!("the index has version {version}; 2 and 3 can be read: git update-index --index-version 2")));
    }
    let count = number(index, 8).ok_or_else(broken)?;
    let mut all: Vec<Entry> = Vec::new();
    let mut at = HEADER;
    for _ in 0..count {
        let entry = index.get(at..).filter(|entry| entry.len() > FIXED).ok_or_else(broken)?;
        let field = |offset| number(entry, offset).unwrap_or_default();
        let flags = u16::from_be_bytes([entry[60], entry[61]]);
        let begin = if flags & EXTENDED == 0 { FIXED } else { FIXED + 2 };
        let rest = entry.get(begin..).ok_or_else(broken)?;
        let length = rest.iter().position(|byte| *byte == 0).ok_or_else(broken)?;
        let path = String::from_utf8_lossy(&rest[..length]).into_owned();
        at += (begin + length + 8) & !7; // one to eight zeros
        let conflicted = flags & STAGE != 0;
        if conflicted && all.last().is_some_and(|last| last.path == path) {
            continue; // the next version of the same file
        }
        let modified_ms = i64::from(field(8)) * 1000 + i64::from(field(12)) / 1_000_000;
        all.push(Entry { path, size: field(36), modified_ms, conflicted, file: field(24) >> 12 == 0o10 });
    }
    Ok(all)
}

fn number(from: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*from.get(at..)?.first_chunk()?))
}
