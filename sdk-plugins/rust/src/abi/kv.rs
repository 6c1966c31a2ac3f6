use super::fields::fields;
use super::{unset, Json};
use serde::Serialize;

/// The scope of the plugin; the default.
pub const KV_GLOBAL: &str = "global";
/// The scope of the plugin in this session.
pub const KV_SESSION: &str = "session";

/// The request of `kv.get`. A plugin asks for its store with `[request.kv]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KvGet {
    /// [`KV_GLOBAL`] when empty, or [`KV_SESSION`].
    #[serde(skip_serializing_if = "unset")]
    pub scope: String,
    /// 1 to 256 bytes.
    pub key: String,
}
fields!(KvGet: scope, key);

/// Its ok.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KvValue {
    /// As it was set.
    pub value: Json,
    /// What was set with it.
    pub version: u64,
}
fields!(KvValue: value, version);

/// The request of `kv.set`. All keys and values of a plugin together, in one scope, have
/// at most 1 MiB.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
fields!(KvSet: scope, key, value, version);

/// The request of `kv.delete`. A key that is not there is no error.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KvDelete {
    /// [`KV_GLOBAL`] when empty, or [`KV_SESSION`].
    #[serde(skip_serializing_if = "unset")]
    pub scope: String,
    /// 1 to 256 bytes.
    pub key: String,
}
fields!(KvDelete: scope, key);

/// The request of `kv.list`: keys in byte order.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
fields!(KvList: scope, prefix, after, limit);

/// Its ok.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KvListed {
    /// A page of them.
    pub keys: Vec<String>,
    /// There are further keys.
    #[serde(skip_serializing_if = "unset")]
    pub more: bool,
}
fields!(KvListed: keys by nullable, more);
