//! Gives facts to the system context. What changes between two turns is told as an
//! update, so a value should hold what matters and nothing that moves all the time.

use crate::abi::{self, Json, SOURCE_ABSENT, SOURCE_UNAVAILABLE, SOURCE_VALUE};
use crate::guest::{answer, read};
use crate::{Error, Result};
use serde::de::DeserializeOwned;
use serde::Serialize;

pub use crate::abi::{ContextObserve as Observe, SourceState as State};

/// What the model is told of a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texts {
    /// The full text; never empty.
    pub baseline: String,
    /// Told when the value differs from the one told before; the baseline when empty.
    pub update: String,
    /// Told when the source is gone; a source without it cannot be removed.
    pub removed: String,
}

impl State {
    /// The state of a source that has a value. Values that encode to the same JSON are the
    /// same value. An empty baseline is an error.
    pub fn value(key: &str, value: &impl Serialize, texts: Texts) -> Result<State> {
        let Texts { baseline, update, removed } = texts;
        if baseline.is_empty() {
            return Err(Error::failed(format!("context source {key} has an empty baseline")));
        }
        let value = Json::of(value).map_err(|error| error.context(format!("encode the value of context source {key}")))?;
        Ok(State { key: key.into(), state: SOURCE_VALUE.into(), value: Some(value), baseline, update, removed })
    }

    /// The state of a source that could not be observed. What the model was told before
    /// stays.
    pub fn unavailable(key: &str) -> State {
        State { key: key.into(), state: SOURCE_UNAVAILABLE.into(), ..State::default() }
    }

    /// The state of a source that was looked for and is not there.
    pub fn absent(key: &str) -> State {
        State { key: key.into(), state: SOURCE_ABSENT.into(), ..State::default() }
    }
}

impl Observe {
    /// The value last told; none when there is none, or none that still reads as a `T`.
    pub fn told<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.previous.get(key)?.read().ok()
    }
}

/// Serves `plinth_context_observe`.
#[doc(hidden)]
pub fn serve(message: &[u8], observe: fn(&Observe) -> Result<Vec<State>>) -> Vec<u8> {
    answer(read::<Observe>(message).and_then(|call| observe(&call.body)).map(|sources| abi::ContextObserved { sources }))
}
