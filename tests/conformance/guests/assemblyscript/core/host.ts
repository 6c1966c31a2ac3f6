// Operations of the core set. Providers and transforms may not ask for any: they do not
// use this module, and so do not import them.

import { Writer } from "../plinth/json";
import { Parts } from "../plinth/message";

@external("plinth", "host_call")
declare function host_call(operation: usize, operationSize: usize, request: usize, requestSize: usize): i32;
@external("plinth", "host_read")
declare function host_read(to: usize): void;

export function operate(operation: string, request: Writer): Parts {
  const name = String.UTF8.encode(operation);
  const size = <usize>host_call(changetype<usize>(name), name.byteLength, request.address, request.length);
  const answer = heap.alloc(max<usize>(size, 1));
  host_read(answer);
  return new Parts(answer, size);
}
