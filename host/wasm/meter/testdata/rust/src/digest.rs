//! SHA-256 and CRC-32: integer work in loops over tables.

const INITIAL: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
fn constants() -> [u32; 64] {
    let mut constants = [0; 64];
    let mut prime = 1u64;
    for constant in &mut constants {
        prime += 1;
        while (2..prime).any(|d| prime % d == 0) {
            prime += 1;
        }
        // The largest r with r³ <= prime << 96 holds 32 bits behind its point.
        let (mut low, mut high) = (0u64, 1u64 << 36);
        while high - low > 1 {
            let middle = (low + high) / 2;
            let m = u128::from(middle);
            if m * m * m <= u128::from(prime) << 96 {
                low = middle;
            } else {
                high = middle;
            }
        }
        *constant = low as u32;
    }
    constants
}

fn block(state: &mut [u32; 8], constants: &[u32; 64], block: &[u8]) {
    let mut schedule = [0u32; 64];
    for (word, bytes) in schedule.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes(bytes.try_into().expect("four bytes"));
    }
    for i in 16..64 {
        let (a, b) = (schedule[i - 15], schedule[i - 2]);
        let small0 = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
        let small1 = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
        schedule[i] = schedule[i - 16].wrapping_add(small0).wrapping_add(schedule[i - 7]).wrapping_add(small1);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for i in 0..64 {
        let large1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let first = h.wrapping_add(large1).wrapping_add(choice).wrapping_add(constants[i]).wrapping_add(schedule[i]);
        let large0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let second = large0.wrapping_add((a & b) ^ (a & c) ^ (b & c));
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(first), c, b, a, first.wrapping_add(second));
    }
    for (sum, value) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *sum = sum.wrapping_add(value);
    }
}

fn sha256(input: &[u8]) -> [u32; 8] {
    let constants = constants();
    let mut padded = input.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
    padded.extend_from_slice(&(input.len() as u64 * 8).to_be_bytes());
    let mut state = INITIAL;
    padded.chunks_exact(64).for_each(|bytes| block(&mut state, &constants, bytes));
    state
}

fn crc32(input: &[u8]) -> u32 {
    let table: Vec<u32> = (0..256u32)
        .map(|byte| (0..8).fold(byte, |c, _| if c & 1 == 1 { 0xedb8_8320 ^ (c >> 1) } else { c >> 1 }))
        .collect();
    !input.iter().fold(!0, |c, &byte| table[((c ^ u32::from(byte)) & 255) as usize] ^ (c >> 8))
}

/// Answers both in hexadecimal, the SHA-256 first.
pub fn hash(input: &[u8]) -> Vec<u8> {
    let mut text: String = sha256(input).iter().map(|word| format!("{word:08x}")).collect();
    text.push_str(&format!(" {:08x}", crc32(input)));
    text.into_bytes()
}
