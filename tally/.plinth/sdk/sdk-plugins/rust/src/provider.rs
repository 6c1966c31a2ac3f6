//! Speaks a model provider's protocol. A provider is a pure codec: the host owns the
//! connection and the secret, and host operations may not be imported.

use crate::abi::{self, Json, ModelEvent, ProviderEncode};
use crate::guest::{answer, read};
use crate::{Error, Result};
use serde::de::DeserializeOwned;
use serde::Serialize;

pub use crate::abi::{Frame, ModelRequest, ProviderClassify as Response, ProviderDecode, ProviderDecoded, ProviderEncoded as Encoded};
pub use crate::abi::{ProviderError, Usage};

/// Translates between the host's words and a provider's.
pub trait Codec {
    /// What a stream's decodes hand on: small, and all that is kept. A stream begins with
    /// the default.
    type State: Serialize + DeserializeOwned + Default;

    /// Makes the HTTP request.
    fn encode(&self, request: &ModelRequest) -> Result<Encoded>;

    /// Reads frames of the response. `end` is set once, when the body is through. The same
    /// frames cut differently must give the same events.
    fn decode(&self, state: &mut Self::State, frames: &[Frame], end: bool, events: &mut Events) -> Result<()>;

    /// Explains a response whose status is not 2xx.
    fn classify(&self, response: &Response) -> ProviderError;
}

impl Encoded {
    /// A POST of JSON to a path below the operator's base URL.
    pub fn post(path: impl Into<String>, body: &impl Serialize) -> Result<Encoded> {
        let body = Json::of(body).map_err(|error| error.context("encode the body of the request"))?;
        Ok(Encoded { method: "POST".into(), path: path.into(), body: Some(body), ..Encoded::default() }.header("content-type", "application/json"))
    }

    /// With a header.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Encoded {
        self.headers.insert(name.into(), value.into());
        self
    }
}

impl ProviderError {
    /// An error of a class, one of the `CLASS_` constants of [`abi`].
    pub fn new(classification: &str, message: impl Into<String>) -> ProviderError {
        ProviderError { classification: classification.into(), message: message.into(), ..ProviderError::default() }
    }

    /// One whose request may succeed later: at once, or after some milliseconds.
    pub fn retryable(mut self, after_ms: i64) -> ProviderError {
        self.retryable = true;
        self.retry_after_ms = after_ms;
        self
    }
}

/// Collects what a decode has to say, in order.
#[derive(Clone, Debug, Default)]
pub struct Events {
    events: Vec<ModelEvent>,
}

impl Events {
    /// None yet.
    pub fn new() -> Events {
        Events::default()
    }

    /// What was told.
    pub fn told(&self) -> &[ModelEvent] {
        &self.events
    }

    /// Tells an event as it is.
    pub fn push(&mut self, event: ModelEvent) {
        self.events.push(event);
    }

    fn part(&mut self, kind: &str, id: &str, text: impl Into<String>) -> &mut ModelEvent {
        self.push(ModelEvent { kind: kind.into(), id: id.into(), text: text.into(), ..ModelEvent::default() });
        let last = self.events.len() - 1;
        &mut self.events[last]
    }

    /// A fragment of a text part.
    pub fn text(&mut self, id: &str, text: impl Into<String>) {
        self.part(abi::EVENT_TEXT_DELTA, id, text);
    }

    /// Closes a text part before the stream ends.
    pub fn text_end(&mut self, id: &str) {
        self.part(abi::EVENT_TEXT_END, id, "");
    }

    /// A fragment of a reasoning part.
    pub fn reasoning(&mut self, id: &str, text: impl Into<String>) {
        self.part(abi::EVENT_REASONING_DELTA, id, text);
    }

    /// Closes a reasoning part before the stream ends, with what the provider wants back
    /// with it, such as its signature.
    pub fn reasoning_end(&mut self, id: &str, metadata: Option<Json>) {
        self.part(abi::EVENT_REASONING_END, id, "").metadata = metadata;
    }

    /// Opens a tool call.
    pub fn tool_start(&mut self, call: &str, name: &str) {
        self.part(abi::EVENT_TOOL_START, call, "").name = name.into();
    }

    /// Opens a call of a tool that the provider runs itself. Its arguments come by
    /// [`tool_input`](Events::tool_input) and [`tool_end`](Events::tool_end), and what came
    /// of it by [`hosted_result`](Events::hosted_result).
    pub fn hosted_start(&mut self, call: &str, name: &str) {
        let start = self.part(abi::EVENT_TOOL_START, call, "");
        start.name = name.into();
        start.hosted = true;
    }

    /// A fragment of a tool call's arguments.
    pub fn tool_input(&mut self, call: &str, text: impl Into<String>) {
        self.part(abi::EVENT_TOOL_DELTA, call, text);
    }

    /// Says that a tool call's arguments are complete, with what the provider wants back
    /// with the call.
    pub fn tool_end(&mut self, call: &str, metadata: Option<Json>) {
        self.part(abi::EVENT_TOOL_END, call, "").metadata = metadata;
    }

    /// Tells once what came of a hosted call.
    pub fn hosted_result(&mut self, call: &str, result: HostedResult) {
        let event = self.part(abi::EVENT_TOOL_RESULT, call, result.text);
        event.result = result.value;
        event.metadata = result.metadata;
        event.failed = result.failed;
    }

    /// Tells what the answer took.
    pub fn usage(&mut self, usage: Usage) {
        self.part(abi::EVENT_USAGE, "", "").usage = Some(usage);
    }

    /// Ends the stream well: once, and last. `stop`, `length`, `tool_calls`,
    /// `content_filter` or `unknown`.
    pub fn finish(&mut self, reason: &str) {
        self.part(abi::EVENT_FINISH, "", "").reason = reason.into();
    }

    /// Ends the stream with an error that the provider sent in place of an answer.
    pub fn fail(&mut self, error: ProviderError) {
        self.part(abi::EVENT_ERROR, "", "").error = Some(error);
    }
}

/// What came of a call of a tool that the provider runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostedResult {
    /// The result for people, and for a model of another provider.
    pub text: String,
    /// The result as the provider wants it back.
    pub value: Option<Json>,
    /// What else the provider wants back with the result; none for what the call has.
    pub metadata: Option<Json>,
    /// Says that the tool failed; `text` says why.
    pub failed: bool,
}

#[doc(hidden)]
pub fn unknown(id: &str) -> Error {
    Error::not_found(format!("this plugin has no provider {id:?}"))
}

/// Serves `plinth_provider_encode`.
#[doc(hidden)]
pub fn encode(message: &[u8], encode: fn(&str, &ModelRequest) -> Result<Encoded>) -> Vec<u8> {
    answer(read::<ProviderEncode>(message).and_then(|call| encode(&call.body.provider, &call.body.request)))
}

/// Serves `plinth_provider_decode`.
#[doc(hidden)]
pub fn decode(message: &[u8], decode: fn(&ProviderDecode) -> Result<ProviderDecoded>) -> Vec<u8> {
    answer(read::<ProviderDecode>(message).and_then(|call| decode(&call.body)))
}

/// Decodes with the state that a codec has given last time.
#[doc(hidden)]
pub fn decode_with<C: Codec>(codec: &C, call: &ProviderDecode) -> Result<ProviderDecoded> {
    let mut state = match &call.state {
        Some(state) => state.read().map_err(|error| error.context("read the stream's state"))?,
        None => C::State::default(),
    };
    let mut events = Events::new();
    codec.decode(&mut state, &call.frames, call.end, &mut events)?;
    let state = Json::of(&state).map_err(|error| error.context("encode the stream's state"))?;
    Ok(ProviderDecoded { state: Some(state), events: events.events })
}

/// Serves `plinth_provider_classify`.
#[doc(hidden)]
pub fn classify(message: &[u8], classify: fn(&Response) -> Result<ProviderError>) -> Vec<u8> {
    answer(read::<Response>(message).and_then(|call| classify(&call.body)))
}
