// The entries of the pure guest for the core set.

import { apply, classify, decode, encode, init } from "../codec";
import { serve } from "./memory";

export { plinth_abi_1, plinth_alloc } from "./memory";

export function plinth_init(at: usize, size: usize): u64 { return serve(at, size, init); }
export function plinth_provider_encode(at: usize, size: usize): u64 { return serve(at, size, encode); }
export function plinth_provider_decode(at: usize, size: usize): u64 { return serve(at, size, decode); }
export function plinth_provider_classify(at: usize, size: usize): u64 { return serve(at, size, classify); }
export function plinth_transform_apply(at: usize, size: usize): u64 { return serve(at, size, apply); }
