// Operations of Extism's set, through the user function. The PDK has no way to ask how
// long a block of the host is, so its function is imported here.

import { Memory } from "@extism/as-pdk";
import { Writer } from "../plinth/json";
import { Parts } from "../plinth/message";
import { bytesOf } from "./guest";

@external("extism:host/user", "host_call")
declare function host_call(operation: u64, request: u64): u64;
@external("extism:host/env", "length")
declare function length(handle: u64): u64;

export function operate(operation: string, request: Writer): Parts {
  const name = Memory.allocateString(operation), message = Memory.allocateBytes(bytesOf(request));
  const handle = host_call(name.offset, message.offset);
  name.free();
  message.free();
  const answer = new Memory(handle, length(handle));
  const bytes = answer.toUint8Array();
  answer.free();
  // The parts point into bytes that the collector does not know to be in use.
  __pin(changetype<usize>(bytes.buffer));
  return new Parts(bytes.dataStart, bytes.length);
}
