//! A codec of a made-up protocol, whose answer is lines of JSON. See README.md for the
//! protocol.

mod encode;
#[cfg(test)]
mod tests;

use plinth::abi::{self, CLASS_INTERNAL, CLASS_UNKNOWN};
use plinth::provider::{Codec, Encoded, Events, Frame, ModelRequest, ProviderError, Response, Usage};
use plinth::{Error, Json, Result};
use serde::{Deserialize, Serialize};

plinth::plugin! {
    providers: { "line" => Line },
}

struct Line;

/// What is kept between two decodes of a stream.
#[derive(Default, Serialize, Deserialize)]
struct State {
    /// The answer has called a tool.
    called: bool,
    /// The line that ends it has come.
    over: bool,
}

/// One line of the answer.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    Text(String),
    Think(String),
    Call { id: String, tool: String },
    Input { id: String, piece: String },
    Called(String),
    Done { reason: String, tokens_in: i64, tokens_out: i64 },
    Error(Failure),
}

#[derive(Deserialize)]
struct Failure {
    code: String,
    text: String,
}

impl Codec for Line {
    type State = State;

    fn encode(&self, request: &ModelRequest) -> Result<Encoded> {
        encode::encode(request)
    }

    fn decode(&self, state: &mut State, frames: &[Frame], end: bool, events: &mut Events) -> Result<()> {
        for frame in frames.iter().filter(|frame| !frame.data.trim().is_empty()) {
            let said = Json::parse(frame.data.as_str()).and_then(|line| line.read());
            let said = said.map_err(|error| Error::failed(format!("the line {:?}: {}", start(&frame.data), error.message)))?;
            if state.over {
                continue; // the last word has been said
            }
            state.hear(said, events);
        }
        if end && !state.over {
            events.fail(ProviderError::new(CLASS_INTERNAL, "the answer ended before its last line").retryable(0));
        }
        Ok(())
    }

    fn classify(&self, response: &Response) -> ProviderError {
        #[derive(Deserialize)]
        struct Body {
            error: Failure,
        }
        let body = Json::parse(response.body.as_str()).and_then(|body| body.read::<Body>());
        let failure = body.map_or_else(|_| Failure { code: String::new(), text: start(&response.body).into() }, |body| body.error);
        let class = match (response.status, class(&failure.code)) {
            (401 | 403, _) => abi::CLASS_AUTHENTICATION,
            (429, CLASS_UNKNOWN) => abi::CLASS_RATE_LIMIT,
            (500..=599, CLASS_UNKNOWN) => CLASS_INTERNAL,
            (_, class) => class,
        };
        let seconds = response.headers.get("retry-after").and_then(|seconds| seconds.parse::<i64>().ok());
        explain(class, failure.text, seconds.unwrap_or(0).clamp(0, 86_400) * 1000)
    }
}

impl State {
    fn hear(&mut self, said: Said, events: &mut Events) {
        match said {
            Said::Text(text) => events.text("text", text),
            Said::Think(text) => events.reasoning("think", text),
            Said::Call { id, tool } => {
                self.called = true;
                events.tool_start(&id, &tool);
            }
            Said::Input { id, piece } => events.tool_input(&id, piece),
            Said::Called(id) => events.tool_end(&id, None),
            Said::Done { reason, tokens_in, tokens_out } => {
                self.over = true;
                events.usage(Usage { input: tokens_in, output: tokens_out, ..Usage::default() });
                events.finish(match reason.as_str() {
                    "end" if self.called => "tool_calls",
                    "end" => "stop",
                    "length" => "length",
                    "refused" => "content_filter",
                    _ => "unknown",
                });
            }
            Said::Error(failure) => {
                self.over = true;
                events.fail(explain(class(&failure.code), failure.text, 0));
            }
        }
    }
}

/// The class of the protocol's codes.
fn class(code: &str) -> &'static str {
    match code {
        "bad_request" => abi::CLASS_INVALID_REQUEST,
        "too_long" => abi::CLASS_CONTEXT_OVERFLOW,
        "slow_down" => abi::CLASS_RATE_LIMIT,
        "no_credit" => abi::CLASS_QUOTA,
        "refused" => abi::CLASS_CONTENT_POLICY,
        "busy" => abi::CLASS_OVERLOADED,
        _ => CLASS_UNKNOWN,
    }
}

fn explain(class: &str, message: String, after_ms: i64) -> ProviderError {
    let error = ProviderError::new(class, message);
    match class {
        abi::CLASS_RATE_LIMIT | abi::CLASS_OVERLOADED | CLASS_INTERNAL => error.retryable(after_ms),
        _ => error,
    }
}

/// The beginning of a text, for a message.
fn start(text: &str) -> &str {
    let end = text.char_indices().nth(200).map_or(text.len(), |(at, _)| at);
    &text[..end]
}
