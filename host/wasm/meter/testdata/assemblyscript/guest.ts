// A guest of AssemblyScript for the tests of the meter: the engine's ABI and entries
// that do real work, each (ptr, len) -> ptr << 32 | len. Its collector runs while they do.

import { Json, Kind, Reader, Writer } from "../../../../../sdk-plugins/assemblyscript/json";

let answered: ArrayBuffer | null = null;

export function test_alloc(size: usize): usize { return heap.alloc(max<usize>(size, 1)); }

function answer(text: string, at: usize): u64 {
  heap.free(at);
  const encoded = String.UTF8.encode(text);
  answered = encoded;
  return <u64>changetype<usize>(encoded) << 32 | <u64>encoded.byteLength;
}

// document decodes JSON, sorts the members of its records, and encodes it with the sum of
// its numbers.
export function document(at: usize, size: usize): u64 {
  const reader = new Reader(at, at + size);
  const value = reader.whole();
  if (reader.failed) return answer("this is no JSON", at);
  const sum = order(value);
  const writer = new Writer();
  writer.value(Json.list([value, Json.text(sum.toString())]));
  return answer(writer.toString(), at);
}

function order(value: Json): f64 {
  let sum = value.kind == Kind.Number ? F64.parseFloat(value.text) : 0;
  const places = new Map<string, Json>();
  for (let i = 0; i < value.items.length; i++) {
    sum += order(value.items[i]);
    if (value.kind == Kind.Record) places.set(value.names[i], value.items[i]);
  }
  if (value.kind == Kind.Record) {
    value.names = places.keys().sort();
    value.items = value.names.map<Json>((name) => new Json());
    for (let i = 0; i < value.names.length; i++) value.items[i] = places.get(value.names[i]);
  }
  return sum;
}

// sort answers the words by length, the longest first, and then in order, each once.
export function sort(at: usize, size: usize): u64 {
  const words = String.UTF8.decodeUnsafe(at, size).split(" ");
  const byLength = words.slice().sort((a, b) => b.length - a.length).join(" ");
  const once = new Set<string>();
  for (let i = 0; i < words.length; i++) once.add(words[i]);
  return answer(byLength + "\n" + once.values().sort().join(" "), at);
}

// hash answers FNV-1a of 64 bits, CRC-32 with a table, and a shuffle of both.
export function hash(at: usize, size: usize): u64 {
  const table = new StaticArray<u32>(256);
  for (let byte: u32 = 0; byte < 256; byte++) {
    let c = byte;
    for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ c >> 1 : c >> 1;
    table[byte] = c;
  }
  let fnv: u64 = 0xcbf29ce484222325;
  let crc: u32 = ~0;
  for (let i: usize = 0; i < size; i++) {
    const byte = load<u8>(at + i);
    fnv = (fnv ^ byte) * 0x100000001b3;
    crc = table[(crc ^ byte) & 255] ^ crc >> 8;
  }
  const mixed = rotl<u64>(fnv, 17) ^ <u64>~crc * 0x9e3779b97f4a7c15;
  return answer(fnv.toString(16) + " " + (~crc).toString(16) + " " + (mixed / (<u64>crc | 1)).toString() + " " + popcnt(mixed).toString(), at);
}

// floats reads numbers, one per word, and answers what some functions make of them.
export function floats(at: usize, size: usize): u64 {
  const words = String.UTF8.decodeUnsafe(at, size).split(" ");
  let text = "";
  let sum = 0.0;
  for (let i = 0; i < words.length; i++) {
    const x = F64.parseFloat(words[i]);
    const single = <f32>x;
    text += x.toString() + " " + single.toString() + " " + Math.sqrt(Math.abs(x)).toString() + " " + Math.sin(x % 7.25).toString() + " " +
      Math.exp(Math.min(x, 3)).toString() + " " + Math.floor(x).toString() + " " + (x % 3.5).toString() + "\n";
    if (isFinite(x)) sum += Math.min(Math.max(x, -1e6), 1e6);
  }
  return answer(text + sum.toString(), at);
}

// simd adds bytes up with vector instructions, and counts those that are letters.
export function simd(at: usize, size: usize): u64 {
  let sums = i32x4.splat(0), floats = f32x4.splat(0);
  let letters = 0;
  for (let i: usize = 0; i + 16 <= size; i += 16) {
    const bytes = v128.load(at + i);
    const pairs = i16x8.extadd_pairwise_i8x16_u(bytes);
    sums = i32x4.add(sums, i32x4.extadd_pairwise_i16x8_u(pairs));
    floats = f32x4.add(f32x4.mul(floats, f32x4.splat(0.75)), f32x4.sqrt(f32x4.convert_i32x4_u(i32x4.extend_low_i16x8_u(pairs))));
    const lower = v128.or(bytes, i8x16.splat(0x20));
    letters += popcnt(i8x16.bitmask(v128.and(i8x16.ge_u(lower, i8x16.splat(0x61)), i8x16.le_u(lower, i8x16.splat(0x7a)))));
  }
  const sum = i32x4.extract_lane(sums, 0) + i32x4.extract_lane(sums, 1) + i32x4.extract_lane(sums, 2) + i32x4.extract_lane(sums, 3);
  const float = f32x4.extract_lane(floats, 0) + f32x4.extract_lane(floats, 1) + f32x4.extract_lane(floats, 2) + f32x4.extract_lane(floats, 3);
  return answer(sum.toString() + " " + float.toString() + " " + letters.toString(), at);
}

// crash recurses as deep as the input is long and then reads beyond its memory.
export function crash(at: usize, size: usize): u64 { return deeper(at, size); }

function deeper(at: usize, left: usize): u64 {
  return left == 0 ? load<u64>(0xfffffff8) : deeper(at + 1, left - 1) + load<u8>(at);
}
