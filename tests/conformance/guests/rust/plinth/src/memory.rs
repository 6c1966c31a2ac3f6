//! The module's memory as the host uses it: room for messages, and the last answer.

use std::alloc::{alloc, Layout};
use std::cell::Cell;

// A guest has one thread.
struct Single(Cell<Option<Vec<u8>>>);
unsafe impl Sync for Single {}

/// The last answer. The host has copied it by the next call.
static ANSWERED: Single = Single(Cell::new(None));

#[no_mangle]
pub extern "C" fn plinth_abi_1() {}

/// Room for a message, or 0. The entry that gets the message takes the room back.
#[no_mangle]
pub extern "C" fn plinth_alloc(size: usize) -> *mut u8 {
    match Layout::array::<u8>(size.max(1)) {
        Ok(layout) => unsafe { alloc(layout) },
        Err(_) => std::ptr::null_mut(),
    }
}

/// # Safety
/// `at` and `size` must be those of memory of `plinth_alloc` that holds a message. An
/// empty message has none.
pub(crate) unsafe fn take(at: *mut u8, size: usize) -> Vec<u8> {
    if size == 0 {
        return Vec::new();
    }
    Vec::from_raw_parts(at, size, size)
}

/// Keeps an answer until the next one and says where it is: `ptr << 32 | len`.
pub(crate) fn publish(answer: Vec<u8>) -> u64 {
    let place = (answer.as_ptr() as u64) << 32 | answer.len() as u64;
    ANSWERED.0.set(Some(answer));
    place
}
