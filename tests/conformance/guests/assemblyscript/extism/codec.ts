// The entries of the pure guest for Extism's set.

import { serve } from "../../../../../sdk-plugins/assemblyscript";
import { apply, classify, decode, encode, init } from "../codec";

export { plinth_abi_1 } from "../../../../../sdk-plugins/assemblyscript";

export function plinth_init(): i32 { return serve(init); }
export function plinth_provider_encode(): i32 { return serve(encode); }
export function plinth_provider_decode(): i32 { return serve(decode); }
export function plinth_provider_classify(): i32 { return serve(classify); }
export function plinth_transform_apply(): i32 { return serve(apply); }
