// Randomness straight from the host. Nothing is kept in the module, so there is nothing
// that a restored instance would repeat and no plinth_reseed.

@external("wasi_snapshot_preview1", "random_get")
declare function random_get(at: usize, size: usize): i32;

const room = memory.data(8);

// random answers 64 random bits. In a provider or a transform they follow from the call.
// Math.random would repeat itself: every call begins with the same memory.
export function random(): u64 {
  if (random_get(room, 8) != 0) unreachable(); // a host without randomness
  return load<u64>(room);
}
