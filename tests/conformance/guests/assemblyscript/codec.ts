// The pure conformance guest: a provider codec and a transform. What it does stands in
// ../README.md.

import { Json, Kind } from "../../../../sdk-plugins/assemblyscript/json";
import { Answer, Call } from "../../../../sdk-plugins/assemblyscript/message";
import { number } from "./number";

export function init(_: Call): Answer { return Answer.ok(Json.record()); }

function stranger(call: Call): bool { return !call.body.at("provider").isText("conformance"); }
function noProvider(call: Call): Answer { return Answer.fail("not_found", `this plugin has no provider "${call.body.at("provider").text}"`); }

export function encode(call: Call): Answer {
  if (stranger(call)) return noProvider(call);
  const request = call.body.at("request");
  const model = request.at("model").text;
  if (model == "none") return Answer.fail("invalid_input", 'there is no model "none"');
  const headers = Json.record().with("content-type", Json.text("application/json"));
  if (model == "random") headers.with("x-random", number());
  return Answer.ok(Json.record().with("method", Json.text("POST")).with("path", Json.text("/v1/" + model))
    .with("query", Json.record().with("purpose", request.at("purpose"))).with("headers", headers).with("body", request));
}

function event(type: string, id: string): Json {
  return Json.record().with("type", Json.text(type)).with("id", Json.text(id));
}

// hosted starts a call of a tool that the provider runs.
function hosted(id: string): Json { return event("tool.start", id).with("name", Json.text("search")).with("hosted", Json.bool(true)); }
function item(name: string): Json { return Json.record().with("item", Json.text(name)); }

// decode: frames say which event they are. The state is the number of frames so far,
// told as usage at the end.
export function decode(call: Call): Answer {
  if (stranger(call)) return noProvider(call);
  const frames = call.body.at("frames").items;
  const events: Json[] = [];
  for (let i = 0; i < frames.length; i++) {
    const kind = frames[i].at("event").text;
    const data = frames[i].at("data");
    if (kind == "text") {
      events.push(event("text.delta", "t").with("text", data));
    } else if (kind == "tool") {
      events.push(event("tool.start", "c").with("name", Json.text("look")));
      events.push(event("tool.delta", "c").with("text", data));
      events.push(event("tool.end", "c"));
    } else if (kind == "hosted") {
      const hit = Json.record().with("url", Json.text("x"));
      events.push(hosted("h"));
      events.push(event("tool.delta", "h").with("text", Json.text('{"q":1}')));
      events.push(event("tool.end", "h").with("metadata", item("call")));
      events.push(event("tool.result", "h").with("text", data).with("result", Json.record().with("hits", Json.list([hit])))
        .with("metadata", item("result")));
    } else if (kind == "refused") {
      events.push(hosted("r"));
      events.push(event("tool.result", "r").with("text", data).with("failed", Json.bool(true)));
    } else if (kind == "finish") {
      events.push(Json.record().with("type", Json.text("finish")).with("reason", data));
    } else {
      return Answer.fail("invalid_input", `unknown event "${kind}"`);
    }
  }
  const seen = Json.integer(call.body.at("state").at("frames").toInteger() + frames.length);
  if (call.body.at("end").kind == Kind.True) {
    events.push(Json.record().with("type", Json.text("usage")).with("usage", Json.record().with("input", seen).with("output", Json.integer(0))));
  }
  return Answer.ok(Json.record().with("state", Json.record().with("frames", seen)).with("events", Json.list(events)));
}

export function classify(call: Call): Answer {
  if (stranger(call)) return noProvider(call);
  const status = call.body.at("status").toInteger();
  const limited = status == 429;
  const told = Json.record().with("message", call.body.at("body")).with("retryable", Json.bool(limited))
    .with("classification", Json.text(limited ? "rate_limit" : status == 401 ? "authentication" : "unknown"));
  const after = call.body.at("headers").at("retry-after").text;
  if (limited && isNumber(after)) told.with("retry_after_ms", Json.integer(I64.parseInt(after) * 1000));
  return Answer.ok(told);
}

function isNumber(text: string): bool {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x30 || code > 0x39) return false;
  }
  return text.length > 0;
}

// apply makes one edit of every kind: the purpose appended to the system text, the first
// text of the messages in capitals, the tool "drop" dropped, and settings set.
export function apply(call: Call): Answer {
  const body = call.body;
  if (!body.at("transform").isText("edit")) return Answer.fail("not_found", `this plugin has no transform "${body.at("transform").text}"`);
  const purpose = body.at("purpose").text;
  if (purpose == "fail") return Answer.fail("conflict", "the purpose cannot be served");
  const edits = [edit("system", "append", "added", Json.text(`The purpose is ${purpose}.`))];
  const part = firstText(body.at("messages").items);
  if (part) edits.push(edit("messages", "replace", part.at("id").text, Json.text(capitals(part.at("text").text))));
  const tools = body.at("tools").items;
  for (let i = 0; i < tools.length; i++) {
    if (tools[i].at("name").isText("drop")) {
      edits.push(Json.record().with("part", Json.text("tools")).with("op", Json.text("drop")).with("id", Json.text("drop")));
    }
  }
  const deep = Json.list([Json.integer(1), new Json()]);
  edits.push(edit("generation", "set", "temperature", Json.digits("0.5")));
  edits.push(edit("options", "set", "conformance", Json.record().with("deep", deep)));
  edits.push(edit("headers", "set", "x-conformance", Json.text("yes")));
  return Answer.ok(Json.record().with("edits", Json.list(edits)));
}

function firstText(messages: Json[]): Json | null {
  for (let i = 0; i < messages.length; i++) {
    const parts = messages[i].at("parts").items;
    for (let j = 0; j < parts.length; j++) {
      if (parts[j].at("type").isText("text")) return parts[j];
    }
  }
  return null;
}

// capitals changes the letters of ASCII alone, which every language agrees on.
function capitals(text: string): string {
  let changed = "";
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    changed += String.fromCharCode(code >= 0x61 && code <= 0x7a ? code - 32 : code);
  }
  return changed;
}

function edit(part: string, op: string, id: string, value: Json): Json {
  return Json.record().with("part", Json.text(part)).with("op", Json.text(op)).with("id", Json.text(id)).with("value", value);
}
