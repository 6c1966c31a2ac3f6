// The entries of the guest with host operations for the core set.

import { Call } from "../../../../../sdk-plugins/assemblyscript/message";
import { execute, init, observe } from "../tools";
import { ask } from "./host";
import { serve } from "./memory";

export { plinth_abi_1, plinth_alloc } from "./memory";

export function plinth_init(at: usize, size: usize): u64 { return serve(at, size, init); }
export function plinth_tool_execute(at: usize, size: usize): u64 { return serve(at, size, (call: Call) => execute(call, ask)); }
export function plinth_context_observe(at: usize, size: usize): u64 { return serve(at, size, observe); }
