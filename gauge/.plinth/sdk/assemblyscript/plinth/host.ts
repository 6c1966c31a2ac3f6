// What a guest asks of its host.

import { Json, Writer } from "./json";
import { frame, Parts } from "./message";

// Operate carries a request to the host and its answer back, in the way of an import
// set. The answer stays where it is until the guest's call ends.
export type Operate = (operation: string, request: Writer) => Parts;

// Reply is an operation's answer: one of ok and error, and the bytes behind it.
export class Reply {
  constructor(public parts: Parts) {}
  get failed(): bool { return this.parts.failed || !this.parts.body.has("ok"); }
  get ok(): Json { return this.parts.body.at("ok"); }
  get error(): Json { return this.parts.body.at("error"); }
}

export function ask(operate: Operate, operation: string, request: Json): Reply {
  return new Reply(operate(operation, frame(request, null)));
}
