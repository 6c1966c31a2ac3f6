use super::fields::fields;
use super::{unset, Blob, Bytes};
use serde::Serialize;
use std::collections::BTreeMap;

/// The request of `http.fetch`. What the plugin was granted by `[[request.http]]` is
/// fetched at once; for any other address, which must be public, the permission
/// `webfetch` is asked on the URL.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HttpFetch {
    /// `GET` when empty.
    #[serde(skip_serializing_if = "unset")]
    pub method: String,
    /// `http` or `https`, without a user and a fragment.
    pub url: String,
    /// Those that belong to the host or the connection are refused.
    #[serde(skip_serializing_if = "unset")]
    pub headers: BTreeMap<String, String>,
    /// What is sent, in the raw bytes; or `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Bytes>,
    /// What is sent.
    #[serde(skip_serializing_if = "unset")]
    pub text: String,
    /// Handles of `[[request.secret]]` to put in where their audience is; all when left
    /// out, none when the list is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets: Option<Vec<String>>,
    /// `follow` (when empty), `manual` or `error`.
    #[serde(skip_serializing_if = "unset")]
    pub redirect: String,
    /// The most of the body, decompressed; 0 means 1 MiB, or with `blob` 16 MiB.
    #[serde(skip_serializing_if = "unset")]
    pub max_bytes: u64,
    /// Of everything; 0 means 120,000, which is the most.
    #[serde(skip_serializing_if = "unset")]
    pub timeout_ms: i64,
    /// Keeps the body at the host.
    #[serde(skip_serializing_if = "unset")]
    pub blob: bool,
}
fields!(HttpFetch:
    method, url, headers by nullable, body, text, secrets, redirect, max_bytes, timeout_ms, blob
);

/// Its ok, whatever the status.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HttpFetched {
    /// Of the response.
    pub status: u16,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// After redirects.
    pub url: String,
    /// How many were followed.
    #[serde(skip_serializing_if = "unset")]
    pub redirects: u64,
    /// Bytes of the body.
    pub size: u64,
    /// The body in the raw bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Bytes>,
    /// The body, kept at the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<Blob>,
}
fields!(HttpFetched: status, headers by nullable, url, redirects, size, body, blob);
