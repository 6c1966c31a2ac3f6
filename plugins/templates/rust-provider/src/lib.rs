//! A plugin with one provider: it speaks the protocol of a model's server. The one here is
//! made up; the server answers lines of JSON:
//!
//! ```text
//! {"text": "Hel"}
//! {"call": {"id": "c1", "name": "read", "arguments": {"path": "a.txt"}}}
//! {"done": {"reason": "stop", "input": 12, "output": 3}}
//! {"error": "out of memory"}
//! ```
//!
//! A provider is a pure codec. The host makes the connection to the operator's base URL, puts
//! the secret in, cuts the answer into frames, here lines, and tries again where `classify`
//! says so.

use plinth::abi::{self, Message, Usage};
use plinth::provider::{Codec, Encoded, Events, Frame, ModelRequest, ProviderError, Response};
use plinth::{Error, Json, Result};
use serde::{Deserialize, Serialize};

plinth::plugin! {
    providers: { "new-plugin" => Line },
}

struct Line;

/// The body of a request.
#[derive(Serialize)]
struct Chat<'a> {
    model: &'a str,
    messages: Vec<Said<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [abi::ToolDefinition],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<i64>,
}

#[derive(Default, Serialize)]
struct Said<'a> {
    /// system, user, assistant or tool
    role: &'a str,
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Call>,
    /// The id of the call that a message of role tool answers.
    #[serde(skip_serializing_if = "str::is_empty")]
    call: &'a str,
}

#[derive(Deserialize, Serialize)]
struct Call {
    id: String,
    name: String,
    arguments: Json,
}

/// One line of an answer.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    text: String,
    call: Option<Call>,
    done: Option<Done>,
    #[serde(default)]
    error: String,
}

#[derive(Deserialize)]
struct Done {
    reason: String,
    input: i64,
    output: i64,
}

impl Codec for Line {
    /// A stream is decoded in several calls, each of which begins with the same memory: what
    /// must be known from one to the next is the state. Here every line stands for itself.
    type State = ();

    /// Makes the HTTP request. Its path is below the operator's base URL.
    fn encode(&self, request: &ModelRequest) -> Result<Encoded> {
        let mut messages: Vec<Said> =
            request.system.iter().map(|part| Said { role: abi::ROLE_SYSTEM, text: part.text.clone(), ..Said::default() }).collect();
        for message in &request.messages {
            tell(message, &mut messages);
        }
        let tools = if request.tool_choice == "none" { &[] } else { &request.tools[..] };
        Encoded::post("chat", &Chat { model: &request.model, messages, tools, max_tokens: request.generation.max_tokens })
    }

    fn decode(&self, (): &mut (), frames: &[Frame], _end: bool, events: &mut Events) -> Result<()> {
        for frame in frames {
            let line: Answer = Json::parse(&frame.data)
                .and_then(|line| line.read())
                .map_err(|error| Error::failed(format!("a line of the answer cannot be read: {error}")))?;
            if !line.text.is_empty() {
                events.text("text", line.text);
            }
            if let Some(call) = line.call {
                events.tool_start(&call.id, &call.name);
                events.tool_input(&call.id, call.arguments.text());
                events.tool_end(&call.id, None);
            }
            if !line.error.is_empty() {
                events.fail(ProviderError::new(abi::CLASS_INTERNAL, line.error));
            }
            if let Some(done) = line.done {
                events.usage(Usage { input: done.input, output: done.output, ..Usage::default() });
                events.finish(&done.reason); // stop, length, tool_calls, content_filter or unknown
            }
        }
        Ok(())
    }

    /// Explains an answer whose status is not 2xx.
    fn classify(&self, response: &Response) -> ProviderError {
        let told = |class| ProviderError::new(class, &response.body);
        match response.status {
            400 => told(abi::CLASS_INVALID_REQUEST),
            401 | 403 => told(abi::CLASS_AUTHENTICATION),
            429 => told(abi::CLASS_RATE_LIMIT).retryable(0),
            500.. => told(abi::CLASS_OVERLOADED).retryable(0),
            _ => told(abi::CLASS_UNKNOWN),
        }
    }
}

/// Says a message in the server's words. Each result of a tool is one of its own. Reasoning
/// and files are left out: this protocol has nothing for them.
fn tell<'a>(message: &'a Message, told: &mut Vec<Said<'a>>) {
    let mut one = Said { role: &message.role, ..Said::default() };
    let mut results = Vec::new();
    for part in &message.parts {
        match part.kind.as_str() {
            abi::PART_TEXT => one.text.push_str(&part.text),
            abi::PART_TOOL_CALL => {
                let arguments = part.input.clone().unwrap_or_default();
                one.calls.push(Call { id: part.call.clone(), name: part.name.clone(), arguments });
            }
            abi::PART_TOOL_RESULT => {
                let text = if part.error { format!("error: {}", part.text) } else { part.text.clone() };
                results.push(Said { role: abi::ROLE_TOOL, text, call: &part.call, ..Said::default() });
            }
            _ => {}
        }
    }
    if !one.text.is_empty() || !one.calls.is_empty() {
        told.push(one);
    }
    told.append(&mut results);
}

#[cfg(test)]
mod tests {
    use super::*;
    use plinth::abi::{ProviderDecode, ProviderDecoded};
    use plinth::test::{call, goldens};

    /// The goldens of plugin.toml, natively; plinth plugin test runs them in the engine too.
    #[test]
    fn recorded_calls() {
        goldens(&PLUGIN, ".");
    }

    /// Reads lines of an answer natively, and says the events in a few words.
    fn decode(lines: &[&str]) -> Result<String> {
        let frames = lines.iter().map(|line| Frame { data: (*line).into(), ..Frame::default() }).collect();
        let body = ProviderDecode { provider: "new-plugin".into(), frames, end: true, ..ProviderDecode::default() };
        let answer: ProviderDecoded = call(&PLUGIN, "plinth_provider_decode", &body)?;
        Ok(answer.events.iter().map(|event| format!("{}:{}{}{}", event.kind, event.id, event.text, event.reason)).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn an_answer_is_decoded() {
        let lines = [r#"{"text":"Hel"}"#, r#"{"text":"lo"}"#, r#"{"done":{"reason":"stop","input":2,"output":1}}"#];
        assert_eq!(decode(&lines).unwrap(), "text.delta:textHel text.delta:textlo usage: finish:stop");
        let lines = [r#"{"call":{"id":"c1","name":"read","arguments":{"path":"a"}}}"#];
        assert_eq!(decode(&lines).unwrap(), r#"tool.start:c1 tool.delta:c1{"path":"a"} tool.end:c1"#);
        assert_eq!(decode(&[r#"{"error":"out of memory"}"#]).unwrap(), "error:");
    }

    #[test]
    fn a_line_that_is_no_json_fails() {
        assert!(decode(&["<html>"]).unwrap_err().message.contains("cannot be read"));
    }

    #[test]
    fn statuses_are_explained() {
        for (status, class) in [(400, abi::CLASS_INVALID_REQUEST), (401, abi::CLASS_AUTHENTICATION), (418, abi::CLASS_UNKNOWN), (429, abi::CLASS_RATE_LIMIT)] {
            let told = Line.classify(&Response { status, ..Response::default() });
            assert_eq!((told.classification.as_str(), told.retryable), (class, status == 429));
        }
    }
}
