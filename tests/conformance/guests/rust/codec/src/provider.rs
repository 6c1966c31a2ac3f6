use plinth::abi::{Usage, CLASS_AUTHENTICATION, CLASS_RATE_LIMIT, CLASS_UNKNOWN};
use plinth::provider::{Codec, Encoded, Events, Frame, HostedResult, ModelRequest, ProviderError, Response};
use plinth::{random, Error, Json, Result};
use serde::{Deserialize, Serialize};

pub struct Conformance;

/// The number of frames so far, told as usage at the end.
#[derive(Default, Serialize, Deserialize)]
pub struct State {
    frames: i64,
}

impl Codec for Conformance {
    type State = State;

    fn encode(&self, request: &ModelRequest) -> Result<Encoded> {
        let mut encoded = Encoded::post(format!("/v1/{}", request.model), request)?;
        encoded.query.insert("purpose".into(), request.purpose.clone());
        match request.model.as_str() {
            "none" => Err(Error::invalid_input("there is no model \"none\"")),
            "random" => Ok(encoded.header("x-random", format!("{:016x}", random::number()))),
            _ => Ok(encoded),
        }
    }

    /// Frames say which event they are.
    fn decode(&self, state: &mut State, frames: &[Frame], end: bool, events: &mut Events) -> Result<()> {
        for frame in frames {
            state.frames += 1;
            let data = frame.data.as_str();
            match frame.event.as_str() {
                "text" => events.text("t", data),
                "tool" => {
                    events.tool_start("c", "look");
                    events.tool_input("c", data);
                    events.tool_end("c", None);
                }
                "hosted" => {
                    events.hosted_start("h", "search");
                    events.tool_input("h", r#"{"q":1}"#);
                    events.tool_end("h", Some(Json::parse(r#"{"item":"call"}"#)?));
                    let (value, metadata) = (Json::parse(r#"{"hits":[{"url":"x"}]}"#)?, Json::parse(r#"{"item":"result"}"#)?);
                    events.hosted_result("h", HostedResult { text: data.into(), value: Some(value), metadata: Some(metadata), failed: false });
                }
                "refused" => {
                    events.hosted_start("r", "search");
                    events.hosted_result("r", HostedResult { text: data.into(), failed: true, ..HostedResult::default() });
                }
                "finish" => events.finish(data),
                other => return Err(Error::invalid_input(format!("unknown event {other:?}"))),
            }
        }
        if end {
            events.usage(Usage { input: state.frames, ..Usage::default() });
        }
        Ok(())
    }

    fn classify(&self, response: &Response) -> ProviderError {
        let class = match response.status {
            401 => CLASS_AUTHENTICATION,
            429 => CLASS_RATE_LIMIT,
            _ => CLASS_UNKNOWN,
        };
        let error = ProviderError::new(class, response.body.as_str());
        if response.status != 429 {
            return error;
        }
        let seconds = response.headers.get("retry-after").and_then(|seconds| seconds.parse::<i64>().ok());
        error.retryable(seconds.unwrap_or(0) * 1000)
    }
}
