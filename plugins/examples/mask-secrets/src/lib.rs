//! A transform that masks secrets in messages. It remembers nothing: the same text is
//! always masked alike.

#[cfg(test)]
mod tests;

use plinth::abi::{Part, PART_TEXT, PART_TOOL_RESULT};
use plinth::transform::{Apply, Edit};
use plinth::{Error, Prepared, Result};
use regex_lite::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

plinth::plugin! {
    config: Settings => configure,
    transforms: { "mask-secrets" => mask },
}

/// What the operator sets.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Further secrets beside those that are known.
    #[serde(default)]
    patterns: Vec<Pattern>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pattern {
    /// What stands in the secret's place: [masked: NAME].
    name: String,
    /// A regular expression; when it has a group, only the group is masked.
    pattern: String,
}

/// Forms of secrets that no other text has.
const KNOWN: [(&str, &str); 5] = [
    ("private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*-----END [A-Z ]*PRIVATE KEY-----"),
    ("AWS key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("GitHub token", r"\b(?:gh[pousr]_[0-9A-Za-z]{36}|github_pat_[0-9A-Za-z_]{60,})\b"),
    ("bearer token", r"(?i)\bbearer ([0-9a-z._~+/-]{16,}=*)"),
    ("password", r"\b[a-z][a-z0-9+.-]*://[^\s/:@]+:([^\s/@]+)@"),
];

struct Rule {
    name: String,
    regex: Regex,
}

/// The expressions, compiled once before all calls.
static RULES: Prepared<Vec<Rule>> = Prepared::new();

fn configure(settings: Settings) -> Result<()> {
    let known = KNOWN.iter().map(|(name, pattern)| ((*name).to_string(), (*pattern).to_string()));
    let further = settings.patterns.into_iter().map(|Pattern { name, pattern }| (name, pattern));
    let rules = known.chain(further).map(|(name, pattern)| {
        let wrong = |why: &str| Error::invalid_input(format!("patterns: {name:?}: {why}"));
        let regex = Regex::new(&pattern).map_err(|error| wrong(&error.to_string()))?;
        if regex.is_match("") {
            return Err(wrong("it fits an empty text, so it would mask everything"));
        }
        Ok(Rule { name, regex })
    });
    RULES.set(rules.collect::<Result<_>>()?);
    Ok(())
}

fn mask(request: &Apply) -> Result<Vec<Edit>> {
    let parts = request.messages.iter().flat_map(|message| &message.parts).filter(|part| open(part));
    parts.filter_map(|part| Some(Edit::replace("messages", &part.id, &masked(&part.text)?))).collect()
}

/// Whether a transform may change a part: the provider has not signed it.
fn open(part: &Part) -> bool {
    (part.kind == PART_TEXT || part.kind == PART_TOOL_RESULT) && !part.hosted && part.metadata.is_none()
}

/// The text without secrets; none when there are none in it.
fn masked(text: &str) -> Option<String> {
    let mut current: Option<String> = None;
    for Rule { name, regex } in RULES.get() {
        let before = current.as_deref().unwrap_or(text);
        let mut after = String::new();
        let mut through = 0;
        for found in regex.captures_iter(before) {
            let Some(secret) = found.get(1).or_else(|| found.get(0)) else { continue };
            after.push_str(&before[through..secret.start()]);
            after.push_str(&format!("[masked: {name}]"));
            through = secret.end();
        }
        if through > 0 {
            after.push_str(&before[through..]);
            current = Some(after);
        }
    }
    current
}
