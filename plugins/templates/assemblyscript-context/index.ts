// A plugin with one context source: it tells the model what the session is called.

import { Host, LogLevel } from "@extism/as-pdk";
import { Answer, ask, Call, Json, Kind, serve } from "../../../sdk-plugins/assemblyscript";

// plinth_abi_1 says that this is a plugin of Plinth; the host looks for it without running anything.
export { plinth_abi_1 } from "../../../sdk-plugins/assemblyscript";

export function plinth_context_observe(): i32 { return serve(observe); }

// key names the source, here and in the manifest.
const key = "example/new-plugin/title";

// observe is asked before every turn, so it is quick, and says what is so now. The host
// compares the value with the one before and tells the model of a change.
function observe(call: Call): Answer {
  const reply = ask("session.info", Json.record());
  if (reply.failed) {
    Host.log(LogLevel.Warn, "the session cannot be asked: " + reply.error.at("message").text);
    return answer(state("unavailable")); // what was told before stays
  }
  const title = reply.ok.at("title");
  if (title.kind != Kind.Text || title.text == "") return answer(state("absent"));
  let update = "This session is now about: " + title.text;
  const before = call.body.at("previous").at(key);
  if (before.kind == Kind.Text) update += ` (before: ${before.text})`;
  return answer(state("value").with("value", title)
    .with("baseline", Json.text("This session is about: " + title.text))
    .with("update", Json.text(update))
    .with("removed", Json.text("What this session is about is no longer told.")));
}

function state(state: string): Json { return Json.record().with("key", Json.text(key)).with("state", Json.text(state)); }
function answer(source: Json): Answer { return Answer.ok(Json.record().with("sources", Json.list([source]))); }
