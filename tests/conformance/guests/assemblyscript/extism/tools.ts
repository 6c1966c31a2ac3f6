// The entries of the guest with host operations for Extism's set.

import { Call } from "../plinth/message";
import { execute, init, observe } from "../tools";
import { operate } from "./host";
import { serve } from "./guest";

export { plinth_abi_1 } from "./guest";

export function plinth_init(): i32 { return serve(init); }
export function plinth_tool_execute(): i32 { return serve((call: Call) => execute(call, operate)); }
export function plinth_context_observe(): i32 { return serve(observe); }
