// Randomness straight from the host. Nothing is kept in the module, so there is nothing
// that a restored instance would repeat and no plinth_reseed.

@external("wasi_snapshot_preview1", "random_get")
declare function random_get(at: usize, size: usize): i32;

const room = memory.data(8);

export function number(): u64 {
  if (random_get(room, 8) != 0) unreachable(); // a host without randomness
  return load<u64>(room);
}

// hex is a number's 16 digits.
export function hex(number: u64): string { return number.toString(16).padStart(16, "0"); }
