//! What a guest asks of its host.

use crate::error::{Error, Kind};
use crate::message;
use serde_json::Value;

// Apart, since the macro brings names of its own.
mod user {
    use extism_pdk::*;

    #[host_fn("extism:host/user")]
    extern "ExtismHost" {
        pub fn host_call(operation: String, request: Vec<u8>) -> Vec<u8>;
    }
}

/// Asks for an operation and answers its ok with the bytes that came along. A failure
/// keeps the host's kind.
pub fn call(operation: &str, request: &Value) -> Result<(Value, Vec<u8>), Error> {
    let request = message::frame(request, &[]);
    let answer = unsafe { user::host_call(operation.to_string(), request) };
    message::reply(operation, &answer.map_err(|error| Error::new(Kind::Failed, error.to_string()))?)
}
