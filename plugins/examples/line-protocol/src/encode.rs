use plinth::abi::{BlobText, Part, BLOB_BASE64, PART_MEDIA, PART_TEXT, PART_TOOL_CALL, PART_TOOL_RESULT};
use plinth::provider::{Encoded, ModelRequest};
use plinth::{Json, Result};
use serde::Serialize;

/// The request of the protocol. What is JSON already is passed on as it is.
#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "String::is_empty")]
    system: String,
    turns: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'a str,
    say: Vec<Say<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Say<'a> {
    Text(&'a str),
    Call {
        id: &'a str,
        tool: &'a str,
        input: Json,
    },
    Answer {
        id: &'a str,
        text: &'a str,
        failed: bool,
    },
    /// The host writes the file's base64 in the place of `data`.
    File {
        mime: &'a str,
        data: BlobText,
    },
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    about: &'a str,
    input: &'a Json,
}

pub fn encode(request: &ModelRequest) -> Result<Encoded> {
    let system: Vec<&str> = request.system.iter().map(|part| part.text.as_str()).collect();
    let turns = request.messages.iter().map(|message| Turn { role: &message.role, say: message.parts.iter().filter_map(say).collect() });
    let body = Request {
        model: &request.model,
        system: system.join("\n\n"),
        turns: turns.filter(|turn| !turn.say.is_empty()).collect(),
        tools: request.tools.iter().map(|tool| Tool { name: &tool.name, about: &tool.description, input: &tool.input }).collect(),
        max_tokens: request.generation.max_tokens,
        temperature: request.generation.temperature,
    };
    Encoded::post("/v1/answer", &body).map(|encoded| encoded.header("accept", "application/x-ndjson"))
}

/// A part in the protocol's words; none for what it has no words for, like reasoning.
fn say(part: &Part) -> Option<Say<'_>> {
    Some(match part.kind.as_str() {
        PART_TEXT => Say::Text(&part.text),
        PART_TOOL_CALL => Say::Call { id: &part.call, tool: &part.name, input: part.input.clone().unwrap_or_default() },
        PART_TOOL_RESULT => Say::Answer { id: &part.call, text: &part.text, failed: part.error },
        PART_MEDIA => {
            let data = BlobText { digest: part.blob.clone(), form: BLOB_BASE64.into(), mime: String::new() };
            Say::File { mime: &part.mime, data }
        }
        _ => return None,
    })
}
