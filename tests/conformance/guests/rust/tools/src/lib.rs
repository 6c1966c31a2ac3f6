//! The conformance guest with host operations: tools and context sources. What it does
//! stands in ../../README.md.

mod sources;
mod tools;

use plinth::{Prepared, Result};
use serde::Deserialize;

plinth::plugin! {
    config: Settings => configure,
    tools: {
        "echo" => tools::echo,
        "fail" => tools::fail,
        "files" => tools::files,
        "settings" => tools::settings,
        "read" => tools::read,
        "ask" => tools::ask,
        "random" => tools::random,
        "count" => tools::count,
        "trap" => tools::trap,
        "spin" => tools::spin,
    },
    sources: sources::observe,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    greeting: String,
}

static SETTINGS: Prepared<Settings> = Prepared::new();

fn configure(settings: Settings) -> Result<()> {
    SETTINGS.set(settings);
    Ok(())
}
