// A plugin with one tool: it counts the words, lines or bytes of a text file.

import { Host, LogLevel } from "@extism/as-pdk";
import { operate } from "../../../tests/conformance/guests/assemblyscript/extism/host";
import { serve } from "../../../tests/conformance/guests/assemblyscript/extism/guest";
import { ask } from "../../../tests/conformance/guests/assemblyscript/plinth/host";
import { Json, Kind } from "../../../tests/conformance/guests/assemblyscript/plinth/json";
import { Answer, Call, Run } from "../../../tests/conformance/guests/assemblyscript/plinth/message";

// plinth_abi_1 says that this is a plugin of Plinth; the host looks for it without running anything.
export { plinth_abi_1 } from "../../../tests/conformance/guests/assemblyscript/extism/guest";

export function plinth_tool_execute(): i32 { return serve(execute); }

function execute(call: Call): Answer {
  const tool = call.body.at("tool").text;
  if (tool != "new-plugin") return Answer.fail("not_found", `this plugin has no tool "${tool}"`);

  // The host has held the input to new-plugin.schema.json.
  const input = call.body.at("input");
  const path = input.at("path");
  const unit = input.at("unit").kind == Kind.Text ? input.at("unit").text : "words";

  // A plugin opens nothing itself: the host does, after it has asked for permission.
  const reply = ask(operate, "fs.read", Json.record().with("path", path));
  if (reply.failed) return Answer.fail(reply.error.at("kind").text, reply.error.at("message").text);
  if (reply.ok.at("eof").kind != Kind.True) return Answer.fail("limit", path.text + " is larger than 1 MiB");
  const data = new Run(reply.ok.at("data"), reply.parts);
  if (data.failed) return Answer.fail("failed", "the file is not in the host's answer");

  const n = count(data, unit);
  const info = reply.ok.at("info");
  const text = `${info.at("path").text} has ${n} ${unit}`;
  return Answer.ok(Json.record()
    .with("content", Json.list([Json.record().with("type", Json.text("text")).with("text", Json.text(text))]))
    .with("structured", Json.record().with("count", Json.integer(n)).with("unit", Json.text(unit)))
    .with("title", info.at("name")));
}

function count(data: Run, unit: string): i32 {
  if (unit == "bytes") return <i32>data.length;
  let n = 0, inside = false;
  for (let i: usize = 0; i < data.length; i++) {
    const byte = load<u8>(data.at + i);
    if (unit == "lines") {
      if (byte == 0x0a) n++;
      continue;
    }
    const space = byte == 0x20 || byte >= 0x09 && byte <= 0x0d;
    if (!space && !inside) n++;
    inside = !space;
  }
  return n;
}

// abort is called when the program breaks; what broke goes to the plugin's log.
function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  const text = message ? message : "it broke";
  Host.log(LogLevel.Error, `${text} at ${file ? file : "?"}:${line}:${column}`);
  unreachable();
}
