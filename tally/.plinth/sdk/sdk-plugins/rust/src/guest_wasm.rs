use super::Handler;
use std::alloc::{alloc, Layout};
use std::cell::Cell;

#[link(wasm_import_module = "plinth")]
extern "C" {
    fn host_call(operation: *const u8, operation_size: usize, request: *const u8, request_size: usize) -> i32;
    fn host_read(to: *mut u8);
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
extern "C" {
    fn fd_write(descriptor: u32, pieces: *const Piece, count: usize, written: *mut usize) -> u16;
    fn random_get(at: *mut u8, size: usize) -> u16;
}

#[repr(C)]
struct Piece {
    at: *const u8,
    size: usize,
}

/// The last answer. The host has copied it by the next call.
struct Answered(Cell<Vec<u8>>);

// A module has one thread.
unsafe impl Sync for Answered {}

static ANSWERED: Answered = Answered(Cell::new(Vec::new()));

#[no_mangle]
extern "C" fn plinth_abi_1() {}

/// Room for a message, or 0. The entry that gets the message takes the room back.
#[no_mangle]
extern "C" fn plinth_alloc(size: usize) -> *mut u8 {
    match Layout::array::<u8>(size.max(1)) {
        Ok(layout) => unsafe { alloc(layout) },
        Err(_) => std::ptr::null_mut(),
    }
}

/// Serves a call of an entry and says where the answer is: `ptr << 32 | len`.
///
/// # Safety
/// `at` and `size` are those of a message in memory of `plinth_alloc`.
pub unsafe fn enter(at: *mut u8, size: usize, handle: Handler) -> u64 {
    let message = match size {
        0 => Vec::new(),
        _ => unsafe { Vec::from_raw_parts(at, size, size) },
    };
    let answer = handle(&message);
    let place = (answer.as_ptr() as u64) << 32 | answer.len() as u64;
    ANSWERED.0.set(answer);
    place
}

/// Exports a handler under its name in the ABI.
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    ($name:ident => $handle:path) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(at: *mut u8, size: usize) -> u64 {
            unsafe { $crate::guest::enter(at, size, $handle) }
        }
    };
}

/// Asks the host for an operation. Both are whole messages.
pub fn operate(operation: &str, request: &[u8]) -> Vec<u8> {
    let mut answer = Vec::new();
    unsafe {
        let size = host_call(operation.as_ptr(), operation.len(), request.as_ptr(), request.len()) as usize;
        answer.reserve_exact(size);
        host_read(answer.as_mut_ptr());
        answer.set_len(size);
    }
    answer
}

/// Fills a buffer with randomness of the host. A host without any must not be taken for
/// one that rolled zeros.
pub fn random(to: &mut [u8]) {
    let errno = unsafe { random_get(to.as_mut_ptr(), to.len()) };
    assert_eq!(errno, 0, "the host gives no randomness");
}

/// Prints a line.
pub fn print(descriptor: u32, line: &str) {
    let pieces = [Piece { at: line.as_ptr(), size: line.len() }, Piece { at: b"\n".as_ptr(), size: 1 }];
    let mut written = 0;
    unsafe { fd_write(descriptor, pieces.as_ptr(), pieces.len(), &mut written) };
}

/// Has a panic print where it was and why, in one line: the standard library prints
/// nothing on this target.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("a value that is no text");
        let place = panic.location();
        let (file, line) = place.map_or(("", 0), |place| (place.file(), place.line()));
        print(2, &format!("panicked at {file}:{line}: {}", text.replace('\n', " ")));
    }));
}
