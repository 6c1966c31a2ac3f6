// How Extism's PDK hands over calls: the message is the input, the answer the output, and an
// error of the ABI is an answer. The exit code is 0.

import { Host, LogLevel, Memory } from "@extism/as-pdk";
import { Json, Writer } from "./json";
import { Answer, answerTo, Call, frame, Parts } from "./message";
import { Reply } from "./reply";

// The PDK has no way to ask how long a block of the host is.
@external("extism:host/env", "length")
declare function length(handle: u64): u64;
@external("extism:host/user", "host_call")
declare function host_call(operation: u64, request: u64): u64;

// plinth_abi_1 says that the module is a plugin of Plinth. Every plugin exports it from its entry
// file; the host looks for it without running anything.
export function plinth_abi_1(): void {}

// serve has a handler answer the call of an entry, and answers the entry's exit code.
export function serve(handler: (call: Call) => Answer): i32 {
  const input = Host.input();
  const at = __pin(changetype<usize>(input.buffer)); // the parts point into it
  Host.output(bytesOf(answerTo(new Parts(input.dataStart, input.length), handler)));
  __unpin(at);
  return 0;
}

// ask has the host do an operation, "fs.read" for one, and answers its reply. Only tools and
// context sources may: the host refuses a provider or transform that uses it.
export function ask(operation: string, request: Json): Reply {
  const name = Memory.allocateString(operation), message = Memory.allocateBytes(bytesOf(frame(request, null)));
  const handle = host_call(name.offset, message.offset);
  name.free();
  message.free();
  const answer = new Memory(handle, length(handle));
  const bytes = answer.toUint8Array();
  answer.free();
  // The parts point into bytes that the collector does not know to be in use.
  __pin(changetype<usize>(bytes.buffer));
  return new Reply(new Parts(bytes.dataStart, bytes.length));
}

// plinth_abort is where a program ends that breaks, built with --use abort=plinth_abort: the
// plugin's log says what broke and where.
// @ts-ignore: decorator
@global
function plinth_abort(message: string | null, file: string | null, line: u32, column: u32): void {
  Host.log(LogLevel.Error, `${message ? message : "it broke"} at ${file ? file : "?"}:${line}:${column}`);
  unreachable();
}

function bytesOf(message: Writer): Uint8Array {
  const bytes = new Uint8Array(message.length);
  memory.copy(bytes.dataStart, message.address, message.length);
  return bytes;
}
