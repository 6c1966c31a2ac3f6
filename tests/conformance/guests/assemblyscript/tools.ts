// The conformance guest with host operations: tools and context sources. What it does
// stands in ../README.md.

import { Json, Kind, Writer } from "../../../../sdk-plugins/assemblyscript/json";
import { Answer, Call, content, reference } from "../../../../sdk-plugins/assemblyscript/message";
import { Reply } from "../../../../sdk-plugins/assemblyscript/reply";
import { number } from "./number";

// Ask has the host do an operation, in the way of an import set.
type Ask = (operation: string, request: Json) => Reply;

let greeting = "";
let calls = 0;

export function init(call: Call): Answer {
  const config = call.body.at("config");
  for (let i = 0; i < config.names.length; i++) {
    const value = config.items[i];
    if (config.names[i] != "greeting") return Answer.fail("invalid_input", `unknown field "${config.names[i]}"`);
    if (value.kind != Kind.Text) return Answer.fail("invalid_input", "greeting is not a text");
    greeting = value.text;
  }
  return Answer.ok(Json.record());
}

function structured(value: Json): Answer { return Answer.ok(Json.record().with("structured", value)); }

export function execute(call: Call, ask: Ask): Answer {
  const input = call.body.at("input");
  const tool = call.body.at("tool").text;
  if (tool == "echo") {
    return structured(Json.record().with("input", input).with("call", call.body.at("call")).with("session", call.body.at("session"))
      .with("location", call.body.at("location")).with("deadline_ms", Json.integer(call.deadline)).with("meta", call.meta));
  }
  if (tool == "fail") return Answer.fail(input.at("kind").text, input.at("message").text);
  if (tool == "files") return files(input.at("sizes"));
  if (tool == "settings") return structured(Json.record().with("greeting", Json.text(greeting)));
  if (tool == "read") return read(input, ask);
  if (tool == "ask") {
    const reply = ask(input.at("op").text, input.at("request"));
    return structured(reply.failed ? Json.record().with("error", reply.error) : Json.record().with("ok", reply.ok));
  }
  if (tool == "random") {
    return structured(Json.record().with("numbers", Json.list([number(), number()])));
  }
  if (tool == "count") return structured(Json.record().with("calls", Json.integer(++calls)));
  if (tool == "trap") unreachable();
  if (tool == "spin") while (true) {}
  return Answer.fail("not_found", `this plugin has no tool "${tool}"`);
}

// files answers content with bytes behind the message, one run per file.
function files(sizes: Json): Answer {
  const told = content(sizes.items.length.toString() + " files");
  const bytes = new Writer();
  for (let file = 0; file < sizes.items.length; file++) {
    const size = <i32>sizes.items[file].toInteger();
    const data = reference(bytes.length, size);
    const room = bytes.room(size);
    for (let at = 0; at < size; at++) store<u8>(room + at, file * 7 + at);
    told.items.push(Json.record().with("type", Json.text("file")).with("name", Json.text("file" + file.toString()))
      .with("mime", Json.text("application/octet-stream")).with("data", data));
  }
  return Answer.ok(Json.record().with("content", told).with("title", Json.text("files"))
    .with("metadata", Json.record().with("bytes", Json.integer(bytes.length))), bytes);
}

function read(input: Json, ask: Ask): Answer {
  const reply = ask("fs.read", input);
  if (reply.failed) return reply.passOn();
  const data = reply.run(reply.ok.at("data"));
  if (data.failed) return Answer.fail("failed", "the data lies outside of the bytes");
  let hash: u32 = 0x811c9dc5;
  for (let i: usize = 0; i < data.length; i++) hash = (hash ^ load<u8>(data.at + i)) * 0x01000193;
  const info = reply.ok.at("info");
  return structured(Json.record().with("path", info.at("path")).with("size", info.at("size")).with("eof", reply.ok.at("eof"))
    .with("bytes", Json.integer(data.length)).with("hash", Json.integer(hash)));
}

export function observe(call: Call): Answer {
  const key = "conformance/guest/session";
  const session = call.body.at("session").at("id").text;
  if (session == "fail") return Answer.fail("unavailable", "nothing can be seen");
  const previous = call.body.at("previous");
  const value = Json.record().with("session", call.body.at("session")).with("location", call.body.at("location"))
    .with("now_ms", call.body.at("now_ms")).with("previous", previous.at(key));
  const seen = state(key, "value").with("value", value).with("baseline", Json.text(`The session is ${session}.`))
    .with("removed", Json.text("The session is unknown."));
  if (previous.has(key)) seen.with("update", Json.text(`The session is now ${session}.`));
  return Answer.ok(Json.record().with("sources", Json.list([
    seen, state("conformance/guest/unavailable", "unavailable"), state("conformance/guest/absent", "absent"),
  ])));
}

function state(key: string, state: string): Json { return Json.record().with("key", Json.text(key)).with("state", Json.text(state)); }
