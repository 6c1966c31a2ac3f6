//! The glue between a guest in Rust and ABI 1. A guest implements handlers and names
//! them with [`export!`]; everything else of the boundary is here.
//!
//! Importing a function of [`host`] makes the module import host operations, which
//! providers and transforms may not: they do not use that module.

pub mod error;
pub mod host;
pub mod memory;
pub mod message;
pub mod random;

pub use error::{Error, Kind};
pub use message::{Answer, Call, Handler};
pub use serde_json::{json, Value};

/// Serves a call of an entry; what [`export!`] expands to.
///
/// # Safety
/// `at` and `size` must be those of a message in memory of `plinth_alloc`.
pub unsafe fn serve(at: *mut u8, size: usize, handler: Handler) -> u64 {
    let message = memory::take(at, size);
    memory::publish(message::serve(&message, handler))
}

/// Exports handlers under their names in the ABI:
///
/// ```ignore
/// plinth::export! { plinth_init => init, plinth_tool_execute => execute }
/// ```
#[macro_export]
macro_rules! export {
    ($($name:ident => $handler:path),* $(,)?) => {
        $(#[no_mangle]
        pub unsafe extern "C" fn $name(at: *mut u8, size: usize) -> u64 {
            $crate::serve(at, size, $handler)
        })*
    };
}
