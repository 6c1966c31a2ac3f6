// A plugin with one tool: the outline of a Markdown file, or one of its sections.

import { Answer, ask, Call, content, ErrorKind, Json, Kind, serve } from "../../../sdk-plugins/assemblyscript";
import { Document, Heading, Section } from "./document";

// plinth_abi_1 says that this is a plugin of Plinth; the host looks for it without running anything.
export { plinth_abi_1 } from "../../../sdk-plugins/assemblyscript";

export function plinth_tool_execute(): i32 { return serve(execute); }

function execute(call: Call): Answer {
  const tool = call.body.at("tool").text;
  if (tool != "markdown-outline") return Answer.fail(ErrorKind.NotFound, `this plugin has no tool "${tool}"`);

  // The host has held the input to markdown-outline.schema.json.
  const input = call.body.at("input");
  const path = input.at("path");
  const reply = ask("fs.read", Json.record().with("path", path));
  if (reply.failed) return reply.passOn();
  if (reply.ok.at("eof").kind != Kind.True) {
    return Answer.fail(ErrorKind.Limit, `${path.text} is larger than 1 MiB, which is the most that is read here; search it with grep instead`);
  }
  const data = reply.run(reply.ok.at("data"));
  if (data.failed) return Answer.fail(ErrorKind.Failed, "the file is not in the host's answer");

  const name = reply.ok.at("info").at("path").text;
  const document = new Document(data.toString());
  if (input.has("line")) return section(name, document, input.at("line").toInteger());
  return outline(name, document, input.has("depth") ? input.at("depth").toInteger() : 6);
}

// outline tells the headings down to a depth.
function outline(name: string, document: Document, depth: i64): Answer {
  const shown: Heading[] = [];
  for (let i = 0; i < document.headings.length; i++) {
    if (document.headings[i].level <= depth) shown.push(document.headings[i]);
  }
  let text = `${name} has ${counted(document.lines.length)}` + (shown.length == 0 ? " and no headings" : "");
  for (let i = 0; i < shown.length; i++) text += `\n${shown[i].line}  ${"#".repeat(shown[i].level)} ${shown[i].title}`;
  return answer(text, name, new Section(1, document.lines.length, shown));
}

// section tells the text around a line.
function section(name: string, document: Document, line: i64): Answer {
  const lines = document.lines.length;
  if (line > lines) return Answer.fail(ErrorKind.InvalidInput, `${name} has ${counted(lines)}; there is no line ${line}`);
  const found = document.section(<i32>line);
  const text = document.lines.slice(found.from - 1, found.to).join("\n");
  return answer(`${name}, lines ${found.from} to ${found.to} of ${lines}\n\n${text}`, name, found);
}

function counted(lines: i32): string { return lines == 1 ? "1 line" : `${lines} lines`; }

function answer(text: string, name: string, told: Section): Answer {
  const headings: Json[] = [];
  for (let i = 0; i < told.headings.length; i++) {
    const heading = told.headings[i];
    headings.push(Json.record().with("line", Json.integer(heading.line)).with("level", Json.integer(heading.level))
      .with("title", Json.text(heading.title)));
  }
  return Answer.ok(Json.record()
    .with("content", content(text))
    .with("structured", Json.record().with("path", Json.text(name)).with("from", Json.integer(told.from)).with("to", Json.integer(told.to))
      .with("headings", Json.list(headings)))
    .with("title", Json.text(name)));
}
