// A plugin with one transform: it adds the rules of its settings to the end of the system text.

import { Answer, Call, ErrorKind, Json, serve } from "../../../sdk-plugins/assemblyscript";

// plinth_abi_1 says that this is a plugin of Plinth; the host looks for it without running anything.
export { plinth_abi_1 } from "../../../sdk-plugins/assemblyscript";

export function plinth_init(): i32 { return serve(configure); }
export function plinth_transform_apply(): i32 { return serve(apply); }

// partID names the added part, so that it is found again.
const partID = "example/new-plugin";

// What is added; empty adds nothing. It is in the snapshot that every call begins with.
let text = "";

// configure takes the operator's settings, which the host has held to config.schema.json.
function configure(call: Call): Answer {
  const settings = call.body.at("config");
  const rules = settings.at("rules").items;
  text = "";
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i].text.trim();
    if (rule == "") return Answer.fail(ErrorKind.InvalidInput, `rules[${i}] is empty; write a rule or take it out`);
    text += "\n- " + rule;
  }
  if (text != "") {
    const title = settings.at("title").text;
    text = (title == "" ? "Rules" : title) + ":" + text;
  }
  return Answer.ok(Json.record());
}

// apply sees what the manifest's reads name and edits what its writes name. It is pure:
// the same request gives the same edits, and no host operation can be asked for.
function apply(call: Call): Answer {
  const name = call.body.at("transform").text;
  if (name != "new-plugin") return Answer.fail(ErrorKind.NotFound, `this plugin has no transform "${name}"`);
  const edits: Json[] = [];
  if (text != "") {
    let op = "append";
    const system = call.body.at("system").items;
    for (let i = 0; i < system.length; i++) {
      if (system[i].at("id").isText(partID)) op = "replace"; // added before: brought up to date
    }
    edits.push(Json.record().with("part", Json.text("system")).with("op", Json.text(op))
      .with("id", Json.text(partID)).with("value", Json.text(text)));
  }
  return Answer.ok(Json.record().with("edits", Json.list(edits)));
}
