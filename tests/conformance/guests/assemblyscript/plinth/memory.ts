// The module's memory as the host uses it: room for messages, and the last answer.

import { Writer } from "./json";
import { Answer, Call, Parts } from "./message";

// The last answer. The host has copied it by the next call.
let answered: Writer | null = null;

export function plinth_abi_1(): void {}

// Room for a message. The entry that gets the message takes the room back.
export function plinth_alloc(size: usize): usize { return heap.alloc(max<usize>(size, 1)); }

// serve answers a call of an entry: ptr << 32 | len.
export function serve(at: usize, size: usize, handler: (call: Call) => Answer): u64 {
  const parts = new Parts(at, size);
  if (at != 0) heap.free(at);
  const answer = parts.failed ? Answer.fail("invalid_input", "the host's message is malformed") : handler(new Call(parts.body));
  const encoded = answer.encode();
  answered = encoded;
  return <u64>encoded.address << 32 | <u64>encoded.length;
}
