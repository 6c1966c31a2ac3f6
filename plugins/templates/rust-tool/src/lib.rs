//! A plugin with one tool: it counts the words, lines or bytes of a text file.

use plinth::{host, tool, Error, Kind, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

plinth::plugin! {
    tools: { "new-plugin" => count },
}

/// What the model gives. The schema it is shown, new-plugin.schema.json, is made of this type:
/// change it here, then run plinth plugin test --update.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(description = "What to count, and in which file")]
struct Input {
    /// A text file, relative to the working directory
    #[schemars(length(min = 1))]
    path: String,
    /// What to count; words when left out
    #[serde(default)]
    unit: Unit,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
enum Unit {
    #[default]
    Words,
    Lines,
    Bytes,
}

/// For programs; the model reads the text beside it.
#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(description = "What was counted")]
struct Output {
    count: usize,
    unit: Unit,
}

fn count(_: &tool::Call, input: Input) -> Result<tool::Output> {
    // A plugin opens nothing itself: the host does, after it has asked for permission.
    let file = host::read(&input.path)?;
    if !file.eof {
        return Err(Error::new(Kind::Limit, format!("{} is larger than 1 MiB", input.path)));
    }
    let (count, unit) = match input.unit {
        Unit::Words => (words(&file.data), "words"),
        Unit::Lines => (file.data.iter().filter(|byte| **byte == b'\n').count(), "lines"),
        Unit::Bytes => (file.data.len(), "bytes"),
    };
    tool::Output::text(format!("{} has {count} {unit}", file.info.path))
        .title(file.info.name)
        .structured(&Output { count, unit: input.unit })
}

fn words(text: &[u8]) -> usize {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plinth::abi::{ToolExecute, ToolOutput};
    use plinth::test::{call, goldens, schema_matches, MockHost};
    use plinth::Json;

    /// The schema files are made of the types; plinth plugin test --update writes them.
    #[test]
    fn schemas() {
        schema_matches::<Input>("new-plugin.schema.json");
        schema_matches::<Output>("new-plugin.output.schema.json");
    }

    /// The goldens of plugin.toml, natively; plinth plugin test runs them in the engine too.
    #[test]
    fn recorded_calls() {
        goldens(&PLUGIN, ".");
    }

    /// Calls the tool natively, on a host that has one file.
    fn run(input: &str) -> Result<ToolOutput> {
        let input = Json::parse(input)?;
        let host = MockHost::new().file("a.txt", "one two\nthree\n");
        host.run(|| call(&PLUGIN, "plinth_tool_execute", &ToolExecute { tool: "new-plugin".into(), input, ..ToolExecute::default() }))
    }

    #[test]
    fn counts() {
        for (input, want) in [
            (r#"{"path": "a.txt"}"#, "a.txt has 3 words"),
            (r#"{"path": "a.txt", "unit": "lines"}"#, "a.txt has 2 lines"),
            (r#"{"path": "a.txt", "unit": "bytes"}"#, "a.txt has 14 bytes"),
        ] {
            assert_eq!(run(input).unwrap().content[0].text, want);
        }
    }

    #[test]
    fn errors_keep_their_kind() {
        assert_eq!(run(r#"{"path": "b.txt"}"#).unwrap_err().kind, Kind::NotFound);
        assert_eq!(run(r#"{"path": "a.txt", "words": 1}"#).unwrap_err().kind, Kind::InvalidInput);
    }
}
