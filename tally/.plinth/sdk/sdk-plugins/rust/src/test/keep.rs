use super::host::{at_most, plain, MockHost};
use crate::abi::{self, Blob, FsAttached, Json, KvDelete, KvGet, KvList, KvListed, KvSet, KvValue, Path, KV_GLOBAL};
use crate::{Error, Result};
use sha2::{Digest, Sha256};

impl MockHost {
    /// Keeps bytes as a blob.
    pub(super) fn keep(&self, content: Vec<u8>) -> Blob {
        let digest = digest(&content);
        self.state.borrow_mut().blobs.insert(digest.clone(), content);
        Blob { digest }
    }

    pub(super) fn attach(&self, path: &Path) -> Result<FsAttached> {
        let at = self.find("fs.attach", path)?;
        let (info, content) = (self.describe(&at)?, self.bytes(&at)?);
        let mime = mime(&content);
        Ok(FsAttached { info, blob: self.keep(content), mime: mime.into() })
    }

    pub(super) fn store(&self, operation: &str, body: &Json) -> Result<(Json, Vec<u8>)> {
        let values = &mut self.state.borrow_mut().values;
        let place = |scope: String, key: String| (if scope.is_empty() { KV_GLOBAL.into() } else { scope }, key);
        match operation {
            "kv.get" => {
                let KvGet { scope, key } = body.read()?;
                match values.get(&place(scope, key.clone())) {
                    Some(value) => plain(value),
                    None => Err(Error::not_found(format!("there is no value for {key}"))),
                }
            }
            "kv.set" => {
                let KvSet { scope, key, value, version } = body.read()?;
                values.insert(place(scope, key), KvValue { value, version });
                plain(&abi::None {})
            }
            "kv.delete" => {
                let KvDelete { scope, key } = body.read()?;
                values.remove(&place(scope, key));
                plain(&abi::None {})
            }
            "kv.list" => {
                let KvList { scope, prefix, after, limit } = body.read()?;
                let (scope, _) = place(scope, String::new());
                let limit = if limit == 0 { 1000 } else { limit.min(1000) };
                let fits = |key: &&String| key.starts_with(&prefix) && (after.is_empty() || **key > after);
                let all = values.keys().filter(|(of, _)| *of == scope).map(|(_, key)| key).filter(fits);
                let mut keys: Vec<String> = all.take(at_most(limit) + 1).cloned().collect();
                let more = keys.len() > at_most(limit);
                keys.truncate(at_most(limit));
                plain(&KvListed { keys, more })
            }
            _ => Err(Error::unavailable(format!("the test's host has no operation {operation}"))),
        }
    }
}

/// The SHA-256 of bytes in hexadecimal.
pub(super) fn digest(content: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(content).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The type of a content by its first bytes.
fn mime(content: &[u8]) -> &'static str {
    let known: [(&[u8], &str); 5] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"%PDF-", "application/pdf"),
        (b"PK\x03\x04", "application/zip"),
    ];
    let text = if std::str::from_utf8(content).is_ok() { "text/plain" } else { "application/octet-stream" };
    known.iter().find(|(begin, _)| content.starts_with(begin)).map_or(text, |(_, mime)| mime)
}
