//! Plinth plugins in Rust. Write plain functions, name them in [`plugin!`], build them
//! for `wasm32-unknown-unknown`, test them natively.
//!
//! ```
//! use plinth::{host, tool, Result};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! /// The size of a file.
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Input {
//!     /// From the working directory.
//!     path: String,
//! }
//!
//! plinth::plugin! {
//!     tools: { "size" => size },
//! }
//!
//! fn size(_: &tool::Call, input: Input) -> Result<tool::Output> {
//!     let info = host::stat(&input.path)?;
//!     tool::Output::text(format!("{} has {} bytes", info.path, info.size)).structured(&info)
//! }
//! # fn main() {}
//! ```
//!
//! A module exports just the kinds that it names, and it imports host operations only when
//! it calls [`host`]: a provider or a transform, which may have none, does not.
//!
//! Calls start from the memory that the module had after `plinth_init`, so nothing that a
//! call leaves in a static is there in the next. What all calls share is made in `config`
//! and `prepare` and kept in a [`Prepared`].
//!
//! A panic ends the call, and its message is in the host's error and in the plugin's log.


pub mod abi;
#[doc(hidden)]
pub mod guest;
pub mod host;
pub mod log;
pub mod plugin;
mod prepared;
pub mod provider;
pub mod random;
pub mod source;
#[cfg(not(target_arch = "wasm32"))]
pub mod test;
pub mod tool;
pub mod transform;

pub use abi::{Error, Json, Kind};
pub use host::progress;
pub use plugin::Plugin;
pub use prepared::Prepared;

/// What a plugin's functions answer.
pub type Result<T, E = Error> = std::result::Result<T, E>;
