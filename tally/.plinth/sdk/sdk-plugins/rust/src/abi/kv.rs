use super::{nullable, unset, Json};
use serde::{Deserialize, Serialize};

/// The scope of the plugin; the default.
pub const KV_GLOBAL: &str = "global";
/// The scope of the plugin in this session.
pub const KV_SESSION: &str = "session";

/// The request of `kv.get`. A plugin asks for its store with `[request.kv]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KvGet {
    /// [`KV_GLOBAL`] when empty, or [`KV_SESSION`].
    #[serde(skip_serializing_if = "unset")]
    pub scope: String,
    /// 1 to 256 bytes.
    pub key: String,
}

/// Its ok.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KvValue {
    /// As it was set.
    pub value: Json,
    /// What was set with it.
    pub version: u64,
}

/// The request of `kv.set`. All keys and values of a plugin together, in one scope, have
/// at most 1 MiB.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KvSet {
    /// [`KV_GLOBAL`] when empty, or [`KV_SESSION`].
    #[serde(skip_serializing_if = "unset")]
    pub scope: String,
    /// 1 to 256 bytes.
    pub key: String,
    /// Any JSON.
    pub value: Json,
    /// That of the value's form, for the plugin's own use.
    #[serde(skip_serializing_if = "unset")]
    pub version: u64,
}

/// The request of `kv.delete`. A key that is not there is no error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KvDelete {
    /// [`KV_GLOBAL`] when empty, or [`KV_SESSION`].
    #[serde(skip_serializing_if = "unset")]
    pub scope: String,
    /// 1 to 256 bytes.
    pub key: String,
}

/// The request of `kv.list`: keys in byte order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KvList {
    /// [`KV_GLOBAL`] when empty, or [`KV_SESSION`].
    #[serde(skip_serializing_if = "unset")]
    pub scope: String,
    /// What keys begin with.
    #[serde(skip_serializing_if = "unset")]
    pub prefix: String,
    /// The last key of the page before.
    #[serde(skip_serializing_if = "unset")]
    pub after: String,
    /// 0 and more than 1,000 mean 1,000.
    #[serde(skip_serializing_if = "unset")]
    pub limit: u64,
}

/// Its ok.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KvListed {
    /// A page of them.
    #[serde(deserialize_with = "nullable")]
    pub keys: Vec<String>,
    /// There are further keys.
    #[serde(skip_serializing_if = "unset")]
    pub more: bool,
}
