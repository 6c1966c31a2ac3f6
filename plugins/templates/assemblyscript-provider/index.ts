// A plugin with one provider: it speaks the protocol of a model's server. The one here is made
// up; the server answers lines of JSON:
//
//   {"text": "Hel"}
//   {"call": {"id": "c1", "name": "read", "arguments": {"path": "a.txt"}}}
//   {"done": {"reason": "stop", "input": 12, "output": 3}}
//   {"error": "out of memory"}
//
// A provider is a pure codec. The host makes the connection to the operator's base URL, puts
// the secret in, cuts the answer into frames, here lines, and tries again where classify says so.

import { Answer, Call, ErrorKind, Json, Kind, serve } from "../../../sdk-plugins/assemblyscript";

// plinth_abi_1 says that this is a plugin of Plinth; the host looks for it without running anything.
export { plinth_abi_1 } from "../../../sdk-plugins/assemblyscript";

export function plinth_provider_encode(): i32 { return serve(encode); }
export function plinth_provider_decode(): i32 { return serve(decode); }
export function plinth_provider_classify(): i32 { return serve(classify); }

// encode makes the HTTP request. Its path is below the operator's base URL.
function encode(call: Call): Answer {
  const request = call.body.at("request");
  const messages: Json[] = [];
  const system = request.at("system").items;
  for (let i = 0; i < system.length; i++) messages.push(said("system").with("text", system[i].at("text")));
  const history = request.at("messages").items;
  for (let i = 0; i < history.length; i++) tell(history[i], messages);
  const body = Json.record().with("model", request.at("model")).with("messages", Json.list(messages));
  if (request.at("tools").items.length > 0 && !request.at("tool_choice").isText("none")) body.with("tools", request.at("tools"));
  const most = request.at("generation").at("max_tokens");
  if (most.kind == Kind.Number) body.with("max_tokens", most);
  return Answer.ok(Json.record().with("method", Json.text("POST")).with("path", Json.text("chat"))
    .with("headers", Json.record().with("content-type", Json.text("application/json"))).with("body", body));
}

function said(role: string): Json { return Json.record().with("role", Json.text(role)); }

// tell says a message in the server's words. Each result of a tool is one of its own.
// Reasoning and files are left out: this protocol has nothing for them.
function tell(message: Json, told: Json[]): void {
  let text = "";
  const calls: Json[] = [], results: Json[] = [];
  const parts = message.at("parts").items;
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i], type = part.at("type").text;
    if (type == "text") text += part.at("text").text;
    if (type == "tool_call") {
      calls.push(Json.record().with("id", part.at("call")).with("name", part.at("name")).with("arguments", part.at("input")));
    }
    if (type == "tool_result") {
      const failed = part.at("error").kind == Kind.True;
      results.push(said("tool").with("text", Json.text((failed ? "error: " : "") + part.at("text").text)).with("call", part.at("call")));
    }
  }
  if (text != "" || calls.length > 0) {
    const one = said(message.at("role").text);
    if (text != "") one.with("text", Json.text(text));
    if (calls.length > 0) one.with("calls", Json.list(calls));
    told.push(one);
  }
  for (let i = 0; i < results.length; i++) told.push(results[i]);
}

// decode reads lines of an answer. A stream is decoded in several calls, each of which
// begins with the same memory: what must be known from one to the next is the state. Here
// every line stands for itself, so there is none.
function decode(call: Call): Answer {
  const frames = call.body.at("frames").items;
  const events: Json[] = [];
  for (let i = 0; i < frames.length; i++) {
    const line = Json.parse(frames[i].at("data").text);
    if (!line) return Answer.fail(ErrorKind.Failed, "a line of the answer is no JSON");
    if (line.has("text")) events.push(event("text.delta").with("id", Json.text("text")).with("text", line.at("text")));
    if (line.has("call")) {
      const made = line.at("call"), id = made.at("id");
      events.push(event("tool.start").with("id", id).with("name", made.at("name")));
      events.push(event("tool.delta").with("id", id).with("text", Json.text(made.at("arguments").toString())));
      events.push(event("tool.end").with("id", id));
    }
    if (line.has("error")) events.push(event("error").with("error", failure("internal", line.at("error"), false)));
    if (line.has("done")) {
      const done = line.at("done");
      events.push(event("usage").with("usage", Json.record().with("input", done.at("input")).with("output", done.at("output"))));
      events.push(event("finish").with("reason", done.at("reason"))); // stop, length, tool_calls, content_filter or unknown
    }
  }
  return Answer.ok(Json.record().with("events", Json.list(events)));
}

function event(type: string): Json { return Json.record().with("type", Json.text(type)); }

// classify explains an answer whose status is not 2xx.
function classify(call: Call): Answer {
  const status = call.body.at("status").toInteger(), body = call.body.at("body");
  if (status == 400) return Answer.ok(failure("invalid_request", body, false));
  if (status == 401 || status == 403) return Answer.ok(failure("authentication", body, false));
  if (status == 429) return Answer.ok(failure("rate_limit", body, true));
  if (status >= 500) return Answer.ok(failure("overloaded", body, true));
  return Answer.ok(failure("unknown", body, false));
}

function failure(classification: string, message: Json, retryable: bool): Json {
  return Json.record().with("classification", Json.text(classification)).with("message", message).with("retryable", Json.bool(retryable));
}
