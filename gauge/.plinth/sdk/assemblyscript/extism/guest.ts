// How Extism's PDK hands over calls: the message is the input, the answer the output,
// and an error of the ABI is an answer. The exit code is 0.

import { Host } from "@extism/as-pdk";
import { Writer } from "../plinth/json";
import { Answer, Call, Parts, serve as answerTo } from "../plinth/message";

export function plinth_abi_1(): void {}

export function serve(handler: (call: Call) => Answer): i32 {
  const input = Host.input();
  const at = __pin(changetype<usize>(input.buffer)); // the parts point into it
  Host.output(bytesOf(answerTo(new Parts(input.dataStart, input.length), handler)));
  __unpin(at);
  return 0;
}

export function bytesOf(message: Writer): Uint8Array {
  const bytes = new Uint8Array(message.length);
  memory.copy(bytes.dataStart, message.address, message.length);
  return bytes;
}
