// A plugin with one tool: it counts the words, lines or bytes of a text file.

import { Answer, ask, Call, content, ErrorKind, Json, Kind, Run, serve } from "../../../sdk-plugins/assemblyscript";

// plinth_abi_1 says that this is a plugin of Plinth; the host looks for it without running anything.
export { plinth_abi_1 } from "../../../sdk-plugins/assemblyscript";

export function plinth_tool_execute(): i32 { return serve(execute); }

function execute(call: Call): Answer {
  const tool = call.body.at("tool").text;
  if (tool != "new-plugin") return Answer.fail(ErrorKind.NotFound, `this plugin has no tool "${tool}"`);

  // The host has held the input to new-plugin.schema.json.
  const input = call.body.at("input");
  const path = input.at("path");
  const unit = input.at("unit").kind == Kind.Text ? input.at("unit").text : "words";

  // A plugin opens nothing itself: the host does, after it has asked for permission.
  const reply = ask("fs.read", Json.record().with("path", path));
  if (reply.failed) return reply.passOn();
  if (reply.ok.at("eof").kind != Kind.True) return Answer.fail(ErrorKind.Limit, path.text + " is larger than 1 MiB");
  const data = reply.run(reply.ok.at("data"));
  if (data.failed) return Answer.fail(ErrorKind.Failed, "the file is not in the host's answer");

  const n = count(data, unit);
  const info = reply.ok.at("info");
  const text = `${info.at("path").text} has ${n} ${unit}`;
  return Answer.ok(Json.record()
    .with("content", content(text))
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
