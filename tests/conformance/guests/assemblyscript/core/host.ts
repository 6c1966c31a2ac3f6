// Operations of the core set. Providers and transforms may not ask for any: they do not
// use this module, and so do not import them.

import { Json } from "../../../../../sdk-plugins/assemblyscript/json";
import { frame, Parts } from "../../../../../sdk-plugins/assemblyscript/message";
import { Reply } from "../../../../../sdk-plugins/assemblyscript/reply";

@external("plinth", "host_call")
declare function host_call(operation: usize, operationSize: usize, request: usize, requestSize: usize): i32;
@external("plinth", "host_read")
declare function host_read(to: usize): void;

export function ask(operation: string, request: Json): Reply {
  const name = String.UTF8.encode(operation), message = frame(request, null);
  const size = <usize>host_call(changetype<usize>(name), name.byteLength, message.address, message.length);
  const answer = heap.alloc(max<usize>(size, 1));
  host_read(answer);
  return new Reply(new Parts(answer, size));
}
