//! A guest of the Rust toolchain for the tests of the meter: the engine's ABI and
//! entries that do real work, each `(ptr, len) -> ptr << 32 | len`.

mod digest;
mod document;
mod numbers;
mod vectors;

use std::alloc::{alloc, dealloc, Layout};

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size.max(1), 8).expect("a size of wasm32")
}

#[no_mangle]
pub extern "C" fn test_alloc(size: usize) -> *mut u8 {
    unsafe { alloc(layout(size)) }
}

/// Takes the message back from memory of test_alloc, and gives the answer's away:
/// nobody frees it, so memory grows with every call alike.
fn entry(at: *mut u8, size: usize, run: fn(&[u8]) -> Vec<u8>) -> u64 {
    let input = unsafe { std::slice::from_raw_parts(at, size) };
    let answer = run(input).leak();
    unsafe { dealloc(at, layout(size)) };
    (answer.as_ptr() as u64) << 32 | answer.len() as u64
}

macro_rules! entries {
    ($($name:ident => $run:path),* $(,)?) => {
        $(#[no_mangle]
        pub extern "C" fn $name(at: *mut u8, size: usize) -> u64 {
            entry(at, size, $run)
        })*
    };
}

entries! {
    document => document::rewrite,
    sort => document::sort,
    hash => digest::hash,
    floats => numbers::floats,
    simd => vectors::sums,
    crash => fail,
}

/// Recurses as deep as the input is long and then indexes beyond its end.
fn fail(input: &[u8]) -> Vec<u8> {
    #[inline(never)]
    fn deeper(input: &[u8], depth: usize) -> u8 {
        if depth == input.len() {
            return input[std::hint::black_box(depth)];
        }
        std::hint::black_box(deeper(input, depth + 1)).wrapping_add(input[depth])
    }
    vec![deeper(input, 0)]
}
