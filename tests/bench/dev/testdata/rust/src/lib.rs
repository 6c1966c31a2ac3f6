//! A tool that greets.

use plinth::{Answer, Call, Error, Kind};

plinth::export! { plinth_tool_execute => execute }

fn execute(call: Call) -> Result<Answer, Error> {
    let name = call
        .body
        .get("input")
        .and_then(|input| input.get("name"))
        .and_then(|name| name.as_str())
        .ok_or_else(|| Error::new(Kind::InvalidInput, "there is no name [edit 0]"))?;
    Ok(Answer::ok(plinth::json!({"content": [{"type": "text", "text": format!("Hello, {name}.")}]})))
}
