//! What a guest asks of its host.

use crate::error::Error;
use crate::message;
use serde_json::Value;

#[link(wasm_import_module = "plinth")]
extern "C" {
    fn host_call(operation: *const u8, operation_size: usize, request: *const u8, request_size: usize) -> i32;
    fn host_read(to: *mut u8);
}

/// Asks for an operation and answers its ok with the bytes that came along. A failure
/// keeps the host's kind.
pub fn call(operation: &str, request: &Value) -> Result<(Value, Vec<u8>), Error> {
    let request = message::frame(request, &[]);
    let mut answer = Vec::new();
    unsafe {
        let size = host_call(operation.as_ptr(), operation.len(), request.as_ptr(), request.len()) as usize;
        answer.reserve_exact(size);
        host_read(answer.as_mut_ptr());
        answer.set_len(size);
    }
    message::reply(operation, &answer)
}
