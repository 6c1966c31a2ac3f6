use super::ask;
use crate::abi::{self, KvDelete, KvGet, KvList, KvListed, KvSet, KvValue, OP_KV_DELETE, OP_KV_GET, OP_KV_LIST, OP_KV_SET};
use crate::Result;

/// A value of the plugin's store; the kind of the error is `NotFound` when there is none.
pub fn kv_get(request: &KvGet) -> Result<KvValue> {
    ask(OP_KV_GET, request)
}

/// Stores a value.
pub fn kv_set(request: &KvSet) -> Result<()> {
    ask::<_, abi::None>(OP_KV_SET, request).map(drop)
}

/// Takes a value out of the store. One that is not there is no error.
pub fn kv_delete(request: &KvDelete) -> Result<()> {
    ask::<_, abi::None>(OP_KV_DELETE, request).map(drop)
}

/// A page of the store's keys.
pub fn kv_list(request: &KvList) -> Result<KvListed> {
    ask(OP_KV_LIST, request)
}
