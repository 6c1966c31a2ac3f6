// The entries of the guest with host operations for Extism's set.

import { ask, Call, serve } from "../../../../../sdk-plugins/assemblyscript";
import { execute, init, observe } from "../tools";

export { plinth_abi_1 } from "../../../../../sdk-plugins/assemblyscript";

export function plinth_init(): i32 { return serve(init); }
export function plinth_tool_execute(): i32 { return serve((call: Call) => execute(call, ask)); }
export function plinth_context_observe(): i32 { return serve(observe); }
