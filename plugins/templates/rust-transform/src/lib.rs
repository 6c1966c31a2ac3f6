//! A plugin with one transform: it adds the rules of its settings to the end of the system
//! text.

use plinth::transform::{Apply, Edit};
use plinth::{Error, Prepared, Result};
use schemars::JsonSchema;
use serde::Deserialize;

plinth::plugin! {
    config: Settings => configure,
    transforms: { "new-plugin" => apply },
}

/// The operator's settings. Their schema, config.schema.json, is made of this type: change it
/// here, then run plinth plugin test --update.
#[derive(Default, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(default, deny_unknown_fields)]
#[schemars(description = "Rules for every session")]
struct Settings {
    /// What stands above the rules
    #[schemars(length(max = 200))]
    title: String,
    /// One rule each, in the words the model is to read
    #[schemars(length(max = 50))]
    rules: Vec<String>,
}

/// Names the added part, so that it is found again.
const PART: &str = "example/new-plugin";

/// What is added; empty adds nothing. It is in the snapshot that every call begins with.
static TEXT: Prepared<String> = Prepared::new();

fn configure(settings: Settings) -> Result<()> {
    let mut text = String::new();
    for (i, rule) in settings.rules.iter().enumerate() {
        let rule = rule.trim();
        if rule.is_empty() {
            return Err(Error::invalid_input(format!("rules[{i}] is empty; write a rule or take it out")));
        }
        text.push_str("\n- ");
        text.push_str(rule);
    }
    if !text.is_empty() {
        let title = if settings.title.is_empty() { "Rules" } else { &settings.title };
        text = format!("{title}:{text}");
    }
    TEXT.set(text);
    Ok(())
}

/// Sees what the manifest's reads name and edits what its writes name. It is pure: the same
/// request gives the same edits, and no host operation can be asked for.
fn apply(request: &Apply) -> Result<Vec<Edit>> {
    let text = TEXT.get();
    if text.is_empty() {
        return Ok(vec![]);
    }
    if request.system.iter().any(|part| part.id == PART) {
        return Ok(vec![Edit::replace("system", PART, text)?]); // added before: brought up to date
    }
    Ok(vec![Edit::append_system(PART, text)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use plinth::abi::{TextPart, TransformEdits, EDIT_APPEND, EDIT_REPLACE};
    use plinth::test::{call, configure, goldens, schema_matches};

    /// The schema file is made of the type; plinth plugin test --update writes it.
    #[test]
    fn schemas() {
        schema_matches::<Settings>("config.schema.json");
    }

    /// The goldens of plugin.toml, natively; plinth plugin test runs them in the engine too.
    #[test]
    fn recorded_calls() {
        goldens(&PLUGIN, ".");
    }

    fn settings(title: &str, rules: &[&str]) -> Settings {
        Settings { title: title.into(), rules: rules.iter().map(|rule| (*rule).into()).collect() }
    }

    /// Applies the transform natively, under some settings.
    fn edits(settings: &Settings, id: &str) -> Vec<Edit> {
        configure(&PLUGIN, settings).unwrap();
        let system = vec![TextPart { id: id.into(), text: "before".into() }];
        let request = Apply { transform: "new-plugin".into(), purpose: "turn".into(), system, ..Apply::default() };
        call::<TransformEdits>(&PLUGIN, "plinth_transform_apply", &request).unwrap().edits
    }

    #[test]
    fn without_rules_nothing_is_added() {
        assert!(edits(&settings("Rules", &[]), "core").is_empty());
    }

    #[test]
    fn rules_are_added_once() {
        let settings = settings("House rules", &[" Be brief.\n", "Cite."]);
        let added = edits(&settings, "core");
        assert_eq!(added.len(), 1);
        assert_eq!(added[0].op, EDIT_APPEND);
        assert_eq!(added[0].value.as_ref().unwrap().text(), r#""House rules:\n- Be brief.\n- Cite.""#);
        assert_eq!(edits(&settings, PART)[0].op, EDIT_REPLACE);
    }

    #[test]
    fn an_empty_rule_is_named() {
        let error = configure(&PLUGIN, &settings("", &["a", " "])).unwrap_err();
        assert!(error.message.contains("rules[1] is empty"), "{error}");
    }
}
