//! Vector instructions, by hand.

use core::arch::wasm32::*;

/// Answers sums over the input: of its bytes, of its bytes as floats after some
/// arithmetic, and of those that are letters.
pub fn sums(input: &[u8]) -> Vec<u8> {
    let mut padded = input.to_vec();
    padded.resize(input.len().next_multiple_of(16), 0);
    let (bytes, floats, letters) = unsafe { vectors(&padded) };
    format!("{bytes} {floats} {letters}").into_bytes()
}

#[target_feature(enable = "simd128")]
unsafe fn vectors(padded: &[u8]) -> (u32, f32, u32) {
    let mut bytes = u32x4_splat(0);
    let mut floats = f32x4_splat(0.0);
    let mut letters = i8x16_splat(0);
    let mut found = 0;
    for chunk in padded.chunks_exact(16) {
        let v = v128_load(chunk.as_ptr().cast());
        bytes = u32x4_add(bytes, u32x4_extadd_pairwise_u16x8(u16x8_extadd_pairwise_u8x16(v)));
        let low = f32x4_convert_u32x4(u32x4_extend_low_u16x8(u16x8_extend_high_u8x16(v)));
        floats = f32x4_add(f32x4_mul(floats, f32x4_splat(0.75)), f32x4_sqrt(low));
        let lower = v128_or(v, u8x16_splat(0x20));
        let is_letter = v128_and(u8x16_ge(lower, u8x16_splat(b'a')), u8x16_le(lower, u8x16_splat(b'z')));
        found += i8x16_bitmask(is_letter).count_ones();
        letters = i8x16_shuffle::<1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0>(i8x16_sub(letters, is_letter), v);
    }
    let sum = |v: v128| u32x4_extract_lane::<0>(v).wrapping_add(u32x4_extract_lane::<1>(v)).wrapping_add(u32x4_extract_lane::<2>(v)).wrapping_add(u32x4_extract_lane::<3>(v));
    let float = f32x4_extract_lane::<0>(floats) + f32x4_extract_lane::<1>(floats) + f32x4_extract_lane::<2>(floats) + f32x4_extract_lane::<3>(floats);
    (sum(bytes).wrapping_add(sum(letters)), float, found)
}
