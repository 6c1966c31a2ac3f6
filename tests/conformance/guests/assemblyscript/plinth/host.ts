// What a guest asks of its host. Providers and transforms may not: they do not use
// this module, and so do not import host operations.

import { Json } from "./json";
import { frame, Parts } from "./message";

@external("plinth", "host_call")
declare function host_call(operation: usize, operationSize: usize, request: usize, requestSize: usize): i32;
@external("plinth", "host_read")
declare function host_read(to: usize): void;

// Reply is an operation's answer: one of ok and error, and the bytes behind it.
export class Reply {
  constructor(public parts: Parts) {}
  get failed(): bool { return this.parts.failed || !this.parts.body.has("ok"); }
  get ok(): Json { return this.parts.body.at("ok"); }
  get error(): Json { return this.parts.body.at("error"); }
}

// call asks for an operation. The reply's bytes stay where they are until the guest's
// call ends.
export function call(operation: string, request: Json): Reply {
  const name = String.UTF8.encode(operation);
  const message = frame(request, null);
  const size = <usize>host_call(changetype<usize>(name), name.byteLength, message.address, message.length);
  const answer = heap.alloc(max<usize>(size, 1));
  host_read(answer);
  return new Reply(new Parts(answer, size));
}
