//! The conformance guest with host operations: tools and context sources. What it does
//! stands in ../../README.md.

mod sources;
mod tools;

use plinth::{Answer, Call, Error, Kind};
use std::sync::OnceLock;

plinth::export! {
    plinth_init => init,
    plinth_tool_execute => tools::execute,
    plinth_context_observe => sources::observe,
}

static GREETING: OnceLock<String> = OnceLock::new();

fn init(call: Call) -> Result<Answer, Error> {
    if let Some(config) = call.body.get("config").and_then(|config| config.as_object()) {
        if let Some(unknown) = config.keys().find(|key| *key != "greeting") {
            return Err(Error::new(Kind::InvalidInput, format!("unknown field {unknown:?}")));
        }
        if let Some(greeting) = config.get("greeting") {
            let text = greeting.as_str().ok_or_else(|| Error::new(Kind::InvalidInput, "greeting is not a text"))?;
            GREETING.get_or_init(|| text.to_string());
        }
    }
    Ok(Answer::ok(plinth::json!({})))
}
