//! Tests a plugin natively, without WebAssembly: calls its exports as the host does,
//! answers its operations from memory ([`MockHost`]), checks the goldens that its manifest
//! names ([`goldens`]) and the schemas that its types give ([`schema_matches`]).
//!
//! With `PLINTH_UPDATE=1` in the environment, which `plinth plugin test --update` sets,
//! goldens and schemas are written instead.

mod commit;
mod golden;
mod host;
mod json;
mod keep;
mod schema;

pub use golden::goldens;
pub use host::MockHost;
pub use schema::{schema, schema_matches};

use crate::abi::{self, decode_message, encode_message, Init, Meta};
use crate::{Json, Plugin, Result};
use serde::de::DeserializeOwned;
use serde::Serialize;

/// Calls an export, like `plinth_tool_execute`, with a body and reads its ok. The error is
/// the answer's.
///
/// # Panics
/// When the answer is no message, or no `OK`.
pub fn call<OK: DeserializeOwned>(plugin: &Plugin, export: &str, body: &impl Serialize) -> Result<OK> {
    let answer = invoke(plugin, export, body);
    let read: abi::Answer<Json> = answer.read().unwrap_or_else(|error| panic!("the answer of {export}: {error} in {}", answer.text()));
    match (read.ok, read.error) {
        (_, Some(error)) => Err(error),
        (Some(ok), None) => Ok(ok.read().unwrap_or_else(|error| panic!("the answer of {export}: {error} in {}", ok.text()))),
        (None, None) => panic!("the answer of {export} has neither ok nor error: {}", answer.text()),
    }
}

/// Calls an export with a body and gives its answer as it is.
///
/// # Panics
/// When the body is no JSON, or the answer no message.
pub fn invoke(plugin: &Plugin, export: &str, body: &impl Serialize) -> Json {
    let meta = Meta { plugin: "test/native".into(), ..Meta::default() };
    let body = Json::of(body).unwrap_or_else(|error| panic!("encode the call of {export}: {error}"));
    let call = Json::of(&abi::Call { deadline_ms: 10_000, meta, body }).expect("a call is JSON");
    let answer = plugin.serve(export, &encode_message(call.text().as_bytes(), &[]));
    let (answer, _) = decode_message(&answer).unwrap_or_else(|error| panic!("the answer of {export}: {error}"));
    Json::parse(String::from_utf8_lossy(answer)).unwrap_or_else(|error| panic!("the answer of {export}: {error}"))
}

/// Gives the plugin its settings, as `plinth_init` does: for this thread, which in a test
/// is the test.
///
/// # Panics
/// When the settings are no JSON.
pub fn configure(plugin: &Plugin, settings: &impl Serialize) -> Result<()> {
    let config = Json::of(settings).unwrap_or_else(|error| panic!("encode the settings: {error}"));
    call::<abi::None>(plugin, "plinth_init", &Init { config: Some(config), minor: abi::MINOR, ..Init::default() }).map(drop)
}

fn updating() -> bool {
    std::env::var_os("PLINTH_UPDATE").is_some_and(|value| value == "1")
}
