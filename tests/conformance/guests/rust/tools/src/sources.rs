use plinth::{json, Answer, Call, Error, Kind};

pub fn observe(call: Call) -> Result<Answer, Error> {
    let session = call.body["session"]["id"].as_str().unwrap_or_default();
    if session == "fail" {
        return Err(Error::new(Kind::Unavailable, "nothing can be seen"));
    }
    const KEY: &str = "conformance/guest/session";
    let previous = call.body.get("previous").and_then(|previous| previous.get(KEY));
    let value = json!({
        "session": call.body["session"], "location": call.body["location"], "now_ms": call.body["now_ms"], "previous": previous,
    });
    let mut seen = json!({
        "key": KEY, "state": "value", "value": value, "baseline": format!("The session is {session}."), "removed": "The session is unknown.",
    });
    if previous.is_some() {
        seen["update"] = json!(format!("The session is now {session}."));
    }
    Ok(Answer::ok(json!({ "sources": [
        seen,
        { "key": "conformance/guest/unavailable", "state": "unavailable" },
        { "key": "conformance/guest/absent", "state": "absent" },
    ] })))
}
