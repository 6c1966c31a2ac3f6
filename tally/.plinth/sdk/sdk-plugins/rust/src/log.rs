//! Lines for the plugin's log. The functions of levels are host operations, which tools
//! and context sources may have; [`print()`] is there for all kinds. A line that the host
//! refuses is lost: a plugin has nowhere else to say so.

use crate::abi::{self, OP_LOG};
use crate::{guest, host};

/// Writes a line of level debug.
pub fn debug(line: impl AsRef<str>) {
    write("debug", line.as_ref());
}

/// Writes a line of level info.
pub fn info(line: impl AsRef<str>) {
    write("info", line.as_ref());
}

/// Writes a line of level warn.
pub fn warn(line: impl AsRef<str>) {
    write("warn", line.as_ref());
}

/// Writes a line of level error.
pub fn error(line: impl AsRef<str>) {
    write("error", line.as_ref());
}

/// Prints a line, which goes to the log too. `println!` goes nowhere on
/// `wasm32-unknown-unknown`.
pub fn print(line: impl AsRef<str>) {
    guest::print(1, line.as_ref());
}

fn write(level: &str, line: &str) {
    let _ = host::ask::<_, abi::None>(OP_LOG, &abi::Log { level: level.into(), message: line.into() });
}
