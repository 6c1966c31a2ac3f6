use crate::GREETING;
use plinth::{host, json, message, random, Answer, Call, Error, Kind, Value};
use std::sync::atomic::{AtomicU32, Ordering};

static CALLS: AtomicU32 = AtomicU32::new(0);

pub fn execute(call: Call) -> Result<Answer, Error> {
    let input = &call.body["input"];
    match call.body["tool"].as_str().unwrap_or_default() {
        "echo" => Ok(structured(json!({
            "input": input, "call": call.body["call"], "session": call.body["session"],
            "location": call.body["location"], "deadline_ms": call.deadline_ms, "meta": call.meta,
        }))),
        "fail" => Err(Error::new(Kind::named(text(input, "kind")), text(input, "message"))),
        "files" => Ok(files(input)),
        "settings" => Ok(structured(json!({ "greeting": GREETING.get().map_or("", String::as_str) }))),
        "read" => read(input),
        "ask" => Ok(structured(match host::call(text(input, "op"), &input["request"]) {
            Ok((ok, _)) => json!({ "ok": ok }),
            Err(error) => json!({ "error": { "kind": error.kind.name(), "message": error.message } }),
        })),
        "random" => Ok(structured(json!({ "numbers": [hex(random::number()), hex(random::number())] }))),
        "count" => Ok(structured(json!({ "calls": CALLS.fetch_add(1, Ordering::Relaxed) + 1 }))),
        "trap" => panic!("the guest breaks"),
        "spin" => loop {
            std::hint::spin_loop();
        },
        unknown => Err(Error::new(Kind::NotFound, format!("this plugin has no tool {unknown:?}"))),
    }
}

fn structured(value: Value) -> Answer {
    Answer::ok(json!({ "structured": value }))
}

fn text<'a>(input: &'a Value, field: &str) -> &'a str {
    input[field].as_str().unwrap_or_default()
}

fn hex(number: u64) -> String {
    format!("{number:016x}")
}

/// Content with bytes behind the message, one run per file.
fn files(input: &Value) -> Answer {
    let sizes: Vec<usize> = input["sizes"].as_array().into_iter().flatten().filter_map(Value::as_u64).map(|size| size as usize).collect();
    let mut content = vec![json!({ "type": "text", "text": format!("{} files", sizes.len()) })];
    let mut bytes = Vec::new();
    for (file, size) in sizes.into_iter().enumerate() {
        let data = message::reference(bytes.len(), size);
        bytes.extend((0..size).map(|at| (file * 7 + at) as u8));
        content.push(json!({ "type": "file", "name": format!("file{file}"), "mime": "application/octet-stream", "data": data }));
    }
    Answer::with_bytes(json!({ "content": content, "title": "files", "metadata": { "bytes": bytes.len() } }), bytes)
}

fn read(input: &Value) -> Result<Answer, Error> {
    let (ok, bytes) = host::call("fs.read", input)?;
    let data = message::referred(&ok["data"], &bytes).ok_or_else(|| Error::new(Kind::Failed, "the data lies outside of the bytes"))?;
    let hash = data.iter().fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    Ok(structured(json!({ "path": ok["info"]["path"], "size": ok["info"]["size"], "eof": ok["eof"], "bytes": data.len(), "hash": hash })))
}
