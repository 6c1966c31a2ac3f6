//! Randomness straight from the host. Nothing is kept in the module, so there is
//! nothing that a restored instance would repeat and no `plinth_reseed`.

#[link(wasm_import_module = "wasi_snapshot_preview1")]
extern "C" {
    fn random_get(at: *mut u8, size: usize) -> u16;
}

/// A random number.
pub fn number() -> u64 {
    let mut bytes = [0; 8];
    let errno = unsafe { random_get(bytes.as_mut_ptr(), bytes.len()) };
    assert_eq!(errno, 0, "the host gave no randomness");
    u64::from_le_bytes(bytes)
}
