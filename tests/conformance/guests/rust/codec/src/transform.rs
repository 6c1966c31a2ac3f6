use plinth::{json, Answer, Call, Error, Kind, Value};

/// One edit of every kind: the purpose appended to the system text, the first text of
/// the messages in capitals, the tool "drop" dropped, and settings set.
pub fn apply(call: Call) -> Result<Answer, Error> {
    let body = &call.body;
    if body["transform"] != json!("edit") {
        return Err(Error::new(Kind::NotFound, format!("this plugin has no transform {}", body["transform"])));
    }
    let purpose = body["purpose"].as_str().unwrap_or_default();
    if purpose == "fail" {
        return Err(Error::new(Kind::Conflict, "the purpose cannot be served"));
    }
    let mut edits = vec![edit("system", "append", "added", json!(format!("The purpose is {purpose}.")))];
    let parts = items(&body["messages"]).flat_map(|message| items(&message["parts"]));
    if let Some(part) = parts.filter(|part| part["type"] == json!("text")).next() {
        let capitals = part["text"].as_str().unwrap_or_default().to_ascii_uppercase();
        edits.push(edit("messages", "replace", part["id"].as_str().unwrap_or_default(), json!(capitals)));
    }
    if items(&body["tools"]).any(|tool| tool["name"] == json!("drop")) {
        edits.push(json!({ "part": "tools", "op": "drop", "id": "drop" }));
    }
    edits.push(edit("generation", "set", "temperature", json!(0.5)));
    edits.push(edit("options", "set", "conformance", json!({ "deep": [1, null] })));
    edits.push(edit("headers", "set", "x-conformance", json!("yes")));
    Ok(Answer::ok(json!({ "edits": edits })))
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn edit(part: &str, op: &str, id: &str, value: Value) -> Value {
    json!({ "part": part, "op": op, "id": id, "value": value })
}
