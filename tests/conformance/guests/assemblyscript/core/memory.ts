// The module's memory as the host of the core set uses it: room for messages, and the
// last answer.

import { Writer } from "../../../../../sdk-plugins/assemblyscript/json";
import { Answer, answerTo, Call, Parts } from "../../../../../sdk-plugins/assemblyscript/message";

// The last answer. The host has copied it by the next call.
let answered: Writer | null = null;

export function plinth_abi_1(): void {}

// Room for a message. The entry that gets the message takes the room back.
export function plinth_alloc(size: usize): usize { return heap.alloc(max<usize>(size, 1)); }

// serve answers a call of an entry: ptr << 32 | len.
export function serve(at: usize, size: usize, handler: (call: Call) => Answer): u64 {
  const parts = new Parts(at, size);
  if (at != 0) heap.free(at);
  const answer = answerTo(parts, handler);
  answered = answer;
  return <u64>answer.address << 32 | <u64>answer.length;
}
