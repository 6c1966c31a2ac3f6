//! Random numbers, cryptographically strong, straight from the host. Nothing is kept in
//! the module, so there is nothing that a later call, which starts from the same memory,
//! would repeat, and no `plinth_reseed`. A generator of one's own is seeded in the call
//! that uses it:
//!
//! ```
//! let mut seed = [0; 32];
//! plinth::random::fill(&mut seed);
//! ```
//!
//! In a provider or a transform the numbers follow from the call's input, so that answers
//! repeat.

use crate::guest;

/// Fills a buffer.
pub fn fill(to: &mut [u8]) {
    guest::random(to);
}

/// A number of 64 bits.
pub fn number() -> u64 {
    let mut bytes = [0; 8];
    fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// A number from 0 to below `end`, each as likely as the other.
///
/// # Panics
/// When `end` is 0.
pub fn below(end: u64) -> u64 {
    assert!(end > 0, "there is no number below 0");
    let uneven = end.wrapping_neg() % end; // the numbers that some remainders have once more
    loop {
        let number = number();
        if number >= uneven {
            return number % end;
        }
    }
}
