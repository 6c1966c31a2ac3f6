//! The SDK on Extism's import set: its own sources, but for the boundary. To a guest it is
//! what the crate of the core set is; only entries and operations are made otherwise.

mod boundary;

#[path = "../../../../../../../sdk-plugins/rust/src/abi/mod.rs"]
pub mod abi;
#[path = "../../../../../../../sdk-plugins/rust/src/guest.rs"]
pub mod guest;
#[path = "../../../../../../../sdk-plugins/rust/src/host/mod.rs"]
pub mod host;
#[path = "../../../../../../../sdk-plugins/rust/src/log.rs"]
pub mod log;
#[path = "../../../../../../../sdk-plugins/rust/src/plugin.rs"]
pub mod plugin;
#[path = "../../../../../../../sdk-plugins/rust/src/prepared.rs"]
mod prepared;
#[path = "../../../../../../../sdk-plugins/rust/src/provider.rs"]
pub mod provider;
#[path = "../../../../../../../sdk-plugins/rust/src/random.rs"]
pub mod random;
#[path = "../../../../../../../sdk-plugins/rust/src/source.rs"]
pub mod source;
#[path = "../../../../../../../sdk-plugins/rust/src/tool.rs"]
pub mod tool;
#[path = "../../../../../../../sdk-plugins/rust/src/transform.rs"]
pub mod transform;

pub use abi::{Error, Json, Kind};
pub use host::progress;
pub use plugin::Plugin;
pub use prepared::Prepared;

pub type Result<T, E = Error> = std::result::Result<T, E>;
