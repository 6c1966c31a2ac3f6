use super::fields::fields;
use super::{unset, Blob, Path};
use serde::Serialize;
use std::collections::BTreeMap;

/// The request of `process.run`: a command line for the user's shell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProcessRun {
    /// The command line.
    pub command: String,
    /// The working directory, the Location itself when empty.
    #[serde(skip_serializing_if = "unset")]
    pub path: Path,
    /// Adds variables. Those of the host that may hold a secret are not there.
    #[serde(skip_serializing_if = "unset")]
    pub environment: BTreeMap<String, String>,
    /// Standard input.
    #[serde(skip_serializing_if = "unset")]
    pub input: String,
    /// At most 600,000; 0 means 120,000.
    #[serde(skip_serializing_if = "unset")]
    pub timeout_ms: i64,
    /// Gives standard output and standard error as two texts.
    #[serde(skip_serializing_if = "unset")]
    pub apart: bool,
}
fields!(ProcessRun: command, path, environment by nullable, input, timeout_ms, apart);

/// Its ok, however the command ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProcessRan {
    /// -1 when a signal ended it.
    pub exit_code: i64,
    /// For example `SIGKILL`.
    #[serde(skip_serializing_if = "unset")]
    pub signal: String,
    /// Why the host ended it: `timeout`, `flood` or `crowd`; empty when it ended by itself.
    #[serde(skip_serializing_if = "unset")]
    pub stopped: String,
    /// How long it ran.
    pub duration_ms: i64,
    /// What it printed.
    pub output: ProcessOutput,
    /// Standard error, with `apart`.
    #[serde(skip_serializing_if = "unset")]
    pub errors: ProcessOutput,
    /// Processes that it left behind, which were ended.
    #[serde(skip_serializing_if = "unset")]
    pub background: u64,
    /// What bounded its writes, `landlock` or `none`.
    pub sandbox: String,
    /// Why there was none, what of it did not hold, or that it refused TCP; else empty.
    #[serde(skip_serializing_if = "unset")]
    pub sandbox_note: String,
}
fields!(ProcessRan:
    exit_code, signal, stopped, duration_ms, output, errors, background, sandbox, sandbox_note
);

/// What a command printed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProcessOutput {
    /// The beginning, or everything.
    pub head: String,
    /// The end, when something was omitted.
    #[serde(skip_serializing_if = "unset")]
    pub tail: String,
    /// Bytes between them.
    #[serde(skip_serializing_if = "unset")]
    pub omitted: u64,
    /// In bytes.
    pub total: u64,
    /// The whole output when something was omitted, as far as it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<Blob>,
    /// A file with the same, absolute, which the model's tools can read for some days.
    /// Empty when it could not be written.
    #[serde(skip_serializing_if = "unset")]
    pub path: String,
}
fields!(ProcessOutput: head, tail, omitted, total, blob, path);
