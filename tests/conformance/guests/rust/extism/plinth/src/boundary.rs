//! What differs from the core set: entries, operations, and where bytes come from.

use crate::guest::{fail, Handler};
use crate::Error;

// Apart, since the macro brings names of its own.
mod user {
    use extism_pdk::*;

    #[host_fn("extism:host/user")]
    extern "ExtismHost" {
        pub fn host_call(operation: String, request: Vec<u8>) -> Vec<u8>;
    }
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
extern "C" {
    fn random_get(at: *mut u8, size: usize) -> u16;
}

#[no_mangle]
pub extern "C" fn plinth_abi_1() {}

/// Serves a call of an entry. The message is the input, the answer the output, and an
/// error of the ABI is an answer: the exit code is 0.
pub fn enter(handle: Handler) -> i32 {
    match extism_pdk::output(handle(&extism_pdk::input_bytes())) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

/// Exports a handler under its name in the ABI.
#[macro_export]
macro_rules! __export {
    ($name:ident => $handle:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> i32 {
            $crate::guest::enter($handle)
        }
    };
}

/// Asks the host for an operation. Both are whole messages.
pub fn operate(operation: &str, request: &[u8]) -> Vec<u8> {
    unsafe { user::host_call(operation.to_string(), request.to_vec()) }.unwrap_or_else(|error| fail(&Error::failed(error.to_string())))
}

/// Fills a buffer with randomness of the host.
pub fn random(to: &mut [u8]) {
    let errno = unsafe { random_get(to.as_mut_ptr(), to.len()) };
    assert_eq!(errno, 0, "the host gives no randomness");
}

/// Prints a line, which Extism's PDK logs.
pub fn print(_: u32, line: &str) {
    extism_pdk::log!(extism_pdk::LogLevel::Info, "{line}");
}

/// A panic is told by Extism's PDK, or not at all.
pub fn report_panics() {}
