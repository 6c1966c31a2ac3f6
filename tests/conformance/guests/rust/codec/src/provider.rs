use plinth::{json, random, Answer, Call, Error, Kind, Value};

fn check(call: &Call) -> Result<(), Error> {
    match call.body["provider"].as_str() {
        Some("conformance") => Ok(()),
        other => Err(Error::new(Kind::NotFound, format!("this plugin has no provider {:?}", other.unwrap_or_default()))),
    }
}

pub fn encode(call: Call) -> Result<Answer, Error> {
    check(&call)?;
    let request = &call.body["request"];
    let model = request["model"].as_str().unwrap_or_default();
    let mut headers = json!({ "content-type": "application/json" });
    match model {
        "none" => return Err(Error::new(Kind::InvalidInput, "there is no model \"none\"")),
        "random" => headers["x-random"] = json!(format!("{:016x}", random::number())),
        _ => {}
    }
    Ok(Answer::ok(json!({
        "method": "POST", "path": format!("/v1/{model}"), "query": { "purpose": request["purpose"] }, "headers": headers, "body": request,
    })))
}

/// Frames say which event they are. The state is the number of frames so far, told as
/// usage at the end.
pub fn decode(call: Call) -> Result<Answer, Error> {
    check(&call)?;
    let mut seen = call.body["state"]["frames"].as_i64().unwrap_or(0);
    let mut events = Vec::new();
    for frame in call.body["frames"].as_array().into_iter().flatten() {
        seen += 1;
        let data = frame["data"].as_str().unwrap_or_default();
        match frame["event"].as_str().unwrap_or_default() {
            "text" => events.push(json!({ "type": "text.delta", "id": "t", "text": data })),
            "tool" => {
                events.push(json!({ "type": "tool.start", "id": "c", "name": "look" }));
                events.push(json!({ "type": "tool.delta", "id": "c", "text": data }));
                events.push(json!({ "type": "tool.end", "id": "c" }));
            }
            "hosted" => {
                events.push(json!({ "type": "tool.start", "id": "h", "name": "search", "hosted": true }));
                events.push(json!({ "type": "tool.delta", "id": "h", "text": "{\"q\":1}" }));
                events.push(json!({ "type": "tool.end", "id": "h", "metadata": { "item": "call" } }));
                events.push(json!({
                    "type": "tool.result", "id": "h", "text": data, "result": { "hits": [{ "url": "x" }] }, "metadata": { "item": "result" },
                }));
            }
            "refused" => {
                events.push(json!({ "type": "tool.start", "id": "r", "name": "search", "hosted": true }));
                events.push(json!({ "type": "tool.result", "id": "r", "text": data, "failed": true }));
            }
            "finish" => events.push(json!({ "type": "finish", "reason": data })),
            other => return Err(Error::new(Kind::InvalidInput, format!("unknown event {other:?}"))),
        }
    }
    if call.body["end"] == json!(true) {
        events.push(json!({ "type": "usage", "usage": { "input": seen, "output": 0 } }));
    }
    Ok(Answer::ok(json!({ "state": { "frames": seen }, "events": events })))
}

pub fn classify(call: Call) -> Result<Answer, Error> {
    check(&call)?;
    let told = |class: &str, retryable: bool| json!({ "classification": class, "message": call.body["body"], "retryable": retryable });
    Ok(Answer::ok(match call.body["status"].as_i64() {
        Some(401) => told("authentication", false),
        Some(429) => {
            let mut limited = told("rate_limit", true);
            let after = call.body["headers"]["retry-after"].as_str().and_then(|seconds| seconds.parse::<i64>().ok());
            if let Some(seconds) = after {
                limited["retry_after_ms"] = Value::from(seconds * 1000);
            }
            limited
        }
        _ => told("unknown", false),
    }))
}
