// Messages: u32 little-endian length | JSON | bytes.

import { Json, Kind, Reader, Writer } from "./json";

// Call is a request to an entry.
export class Call {
  constructor(private whole: Json) {}

  // How long the call may take from now, in milliseconds.
  get deadline(): i64 { return this.whole.at("deadline_ms").toInteger(); }

  // The plugin's id and its revision.
  get meta(): Json { return this.whole.at("meta"); }

  // What the entry is called with, docs/reference/abi.md has its fields.
  get body(): Json { return this.whole.at("body"); }
}

// Answer is what a handler answers, with the bytes its JSON refers to.
export class Answer {
  private constructor(private body: Json, private bytes: Writer | null) {}

  // ok answers what the entry is to answer; reference is how it names a run of the bytes.
  static ok(ok: Json, bytes: Writer | null = null): Answer {
    return new Answer(Json.record().with("ok", ok), bytes);
  }

  // fail answers an error of one of ErrorKind. The message is for the model, or a person.
  static fail(kind: string, message: string): Answer {
    return new Answer(Json.record().with("error", Json.record().with("kind", Json.text(kind)).with("message", Json.text(message))), null);
  }

  // encode answers the message.
  encode(): Writer { return frame(this.body, this.bytes); }
}

// Parts are a message taken apart. They point into the memory in which it lies.
export class Parts {
  failed: bool = true; // it is no message
  body: Json = new Json();
  bytes: usize = 0; // where they begin
  size: usize = 0; // how many there are

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

// answerTo has a handler answer a message, and answers the message that it made.
export function answerTo(parts: Parts, handler: (call: Call) => Answer): Writer {
  return (parts.failed ? Answer.fail("invalid_input", "the host's message is malformed") : handler(new Call(parts.body))).encode();
}

// frame makes a message of JSON and the bytes that it refers to.
export function frame(body: Json, bytes: Writer | null): Writer {
  const message = new Writer();
  message.room(4);
  message.value(body);
  store<u32>(message.address, message.length - 4);
  if (bytes) memory.copy(message.room(bytes.length), bytes.address, bytes.length);
  return message;
}

// content is the content of a tool's answer: a text. A file is a further item of the list.
export function content(text: string): Json {
  return Json.list([Json.record().with("type", Json.text("text")).with("text", Json.text(text))]);
}

// reference is a run of a message's bytes as it stands in JSON, both in bytes.
export function reference(offset: i32, length: i32): Json {
  return Json.record().with("$bytes", Json.list([Json.integer(offset), Json.integer(length)]));
}

// Run is where a reference points among the bytes of a message. It stays there until the call ends.
export class Run {
  failed: bool = true; // it is no reference, or points elsewhere
  at: usize = 0; // the address of the first byte
  length: usize = 0; // in bytes

  constructor(reference: Json, parts: Parts) {
    const run = reference.at("$bytes");
    if (run.kind != Kind.List || run.items.length != 2) return this;
    const offset = run.items[0].toInteger(), length = run.items[1].toInteger();
    if (offset < 0 || length < 0 || offset > <i64>parts.size || length > <i64>parts.size - offset) return this;
    this.at = parts.bytes + <usize>offset;
    this.length = <usize>length;
    this.failed = false;
  }
  // toString reads the bytes as UTF-8.
  toString(): string { return String.UTF8.decodeUnsafe(this.at, this.length); }
}
