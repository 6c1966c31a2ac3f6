// Messages: u32 little-endian length | JSON | bytes.

import { Json, Kind, Reader, Writer } from "./json";

// Call is a request to an entry.
export class Call {
  constructor(private whole: Json) {}
  // How long the call may take from now, in milliseconds.
  get deadline(): i64 { return this.whole.at("deadline_ms").toInteger(); }
  get meta(): Json { return this.whole.at("meta"); }
  get body(): Json { return this.whole.at("body"); }
}

// Answer is what a handler answers, with the bytes its JSON refers to.
export class Answer {
  private constructor(private body: Json, private bytes: Writer | null) {}

  static ok(ok: Json, bytes: Writer | null = null): Answer {
    return new Answer(Json.record().with("ok", ok), bytes);
  }

  // fail answers an error of one of the ABI's kinds.
  static fail(kind: string, message: string): Answer {
    return new Answer(Json.record().with("error", Json.record().with("kind", Json.text(kind)).with("message", Json.text(message))), null);
  }

  encode(): Writer { return frame(this.body, this.bytes); }
}

// Parts are a message taken apart.
export class Parts {
  failed: bool = true;
  body: Json = new Json();
  bytes: usize = 0; // where they begin
  size: usize = 0;

  constructor(message: usize, length: usize) {
    if (length < 4) return this;
    const json = <usize>load<u32>(message);
    if (json > length - 4) return this;
    const reader = new Reader(message + 4, message + 4 + json);
    this.body = reader.whole();
    this.failed = reader.failed;
    this.bytes = message + 4 + json;
    this.size = length - 4 - json;
  }
}

// serve has a handler answer a message, and answers the message that it made.
export function serve(parts: Parts, handler: (call: Call) => Answer): Writer {
  return (parts.failed ? Answer.fail("invalid_input", "the host's message is malformed") : handler(new Call(parts.body))).encode();
}

export function frame(body: Json, bytes: Writer | null): Writer {
  const message = new Writer();
  message.room(4);
  message.value(body);
  store<u32>(message.address, message.length - 4);
  if (bytes) memory.copy(message.room(bytes.length), bytes.address, bytes.length);
  return message;
}

// reference is a run of a message's bytes as it stands in JSON.
export function reference(offset: i32, length: i32): Json {
  return Json.record().with("$bytes", Json.list([Json.integer(offset), Json.integer(length)]));
}

// Run is where a reference points among bytes.
export class Run {
  failed: bool = true;
  at: usize = 0;
  length: usize = 0;

  constructor(reference: Json, parts: Parts) {
    const run = reference.at("$bytes");
    if (run.kind != Kind.List || run.items.length != 2) return this;
    const offset = run.items[0].toInteger(), length = run.items[1].toInteger();
    if (offset < 0 || length < 0 || offset > <i64>parts.size || length > <i64>parts.size - offset) return this;
    this.at = parts.bytes + <usize>offset;
    this.length = <usize>length;
    this.failed = false;
  }
}
