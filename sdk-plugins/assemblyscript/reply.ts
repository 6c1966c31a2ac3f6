// What the host answers to an operation, and the kinds of errors, which are the same for plugins.

import { Json } from "./json";
import { Answer, Parts, Run } from "./message";

// ErrorKind are the kinds of errors. Any other text is told as failed.
export namespace ErrorKind {
  export const InvalidInput: string = "invalid_input"; // the input is not what is wanted
  export const NotFound: string = "not_found"; // there is no such thing
  export const Denied: string = "denied"; // no grant, no permission, or outside of what may be reached
  export const Unavailable: string = "unavailable"; // what it needs is not there
  export const Conflict: string = "conflict"; // the thing changed meanwhile
  export const Limit: string = "limit"; // a limit was reached; the message says which
  export const Cancelled: string = "cancelled"; // the call was interrupted
  export const Timeout: string = "timeout"; // the time is over
  export const Failed: string = "failed"; // anything else
}

// Reply is the host's answer to an operation: ok, or an error.
export class Reply {
  constructor(private parts: Parts) {}

  get failed(): bool { return this.parts.failed || !this.parts.body.has("ok"); }

  // What the operation answers, when it has not failed.
  get ok(): Json { return this.parts.body.at("ok"); }

  // The error, {"kind", "message"}, when it has.
  get error(): Json { return this.parts.body.at("error"); }

  // run finds the bytes that a member of ok refers to, as {"$bytes": [offset, length]}.
  run(reference: Json): Run { return new Run(reference, this.parts); }

  // passOn answers the error as the plugin's own.
  passOn(): Answer { return Answer.fail(this.error.at("kind").text, this.error.at("message").text); }
}
