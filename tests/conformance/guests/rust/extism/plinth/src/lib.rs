//! The glue between a guest in Rust and ABI 1 on Extism's import set. To a guest it is
//! what the crate of the core set is; only entries and operations are made otherwise.

#[path = "../../../plinth/src/error.rs"]
pub mod error;
pub mod host;
#[path = "../../../plinth/src/message.rs"]
pub mod message;
#[path = "../../../plinth/src/random.rs"]
pub mod random;

pub use error::{Error, Kind};
pub use message::{Answer, Call, Handler};
pub use serde_json::{json, Value};

#[no_mangle]
pub extern "C" fn plinth_abi_1() {}

/// Serves a call of an entry; what [`export!`] expands to. The message is the input,
/// the answer the output, and an error of the ABI is an answer: the exit code is 0.
pub fn serve(handler: Handler) -> i32 {
    match extism_pdk::output(message::serve(&extism_pdk::input_bytes(), handler)) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

/// Exports handlers under their names in the ABI.
#[macro_export]
macro_rules! export {
    ($($name:ident => $handler:path),* $(,)?) => {
        $(#[no_mangle]
        pub extern "C" fn $name() -> i32 {
            $crate::serve($handler)
        })*
    };
}
