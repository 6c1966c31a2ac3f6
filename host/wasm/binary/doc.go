// Package binary decodes and encodes WebAssembly modules: version 2.0 of the core
// (multi-value, sign extension, saturating conversion, bulk memory, reference
// types, SIMD) and nothing beyond it. It knows bytes and counts, not what a
// module is for.
//
// Decode reads everything, to the last immediate of the last instruction, checks
// every index against the module's own counts, and keeps no instruction as it
// was written: the Code of a Body is what this package wrote for the instruction
// it understood. A reader that understands another instruction in the same
// bytes can therefore not be handed those bytes. What Decode does not check is
// the types of operands; the compiler behind it does.
//
// Decoding takes time linear in the input, and memory of at most a small
// multiple of it. Encode is canonical: what decodes alike is encoded alike.
package binary
