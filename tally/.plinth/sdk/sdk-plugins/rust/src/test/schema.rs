use super::json::{indented, same};
use super::updating;
use crate::Json;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;
use std::fs;

/// The JSON Schema of a type as a tool's input or a plugin's configuration: without
/// references, which not every model reads, and without the names that schemars gives to
/// the sizes of numbers. Comments of the type and its fields are the descriptions.
///
/// # Panics
/// When a schema is no JSON, which none is.
pub fn schema<T: JsonSchema>() -> Json {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    RecursiveTransform(|schema: &mut Schema| {
        let sizes = ["int", "uint", "float", "double"];
        if schema.get("format").and_then(Value::as_str).is_some_and(|format| sizes.iter().any(|size| format.starts_with(size))) {
            schema.remove("format");
        }
    })
    .transform(&mut schema);
    Json::of(&schema).expect("a schema is JSON")
}

/// Compares a schema file, from the plugin's folder, with the schema of a type. With
/// `PLINTH_UPDATE=1` it writes the file.
///
/// # Panics
/// When they differ, and when the type takes fields that it does not know:
/// `#[serde(deny_unknown_fields)]` has them refused, and says so to the model.
pub fn schema_matches<T: JsonSchema>(file: &str) {
    let schema = schema::<T>();
    let name = std::any::type_name::<T>();
    let value: Value = schema.read().expect("a schema is JSON");
    assert!(
        value.get("properties").is_none() || value.get("additionalProperties") == Some(&Value::Bool(false)),
        "{name} passes over fields that it does not know: put #[serde(deny_unknown_fields)] on it"
    );
    let pretty = indented(schema.text());
    if updating() {
        fs::write(file, &pretty).unwrap_or_else(|error| panic!("{file}: {error}"));
        return;
    }
    let there = fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error} (PLINTH_UPDATE=1 cargo test writes it)"));
    let there: Value = serde_json::from_str(&there).unwrap_or_else(|error| panic!("{file}: {error}"));
    assert!(same(&there, &value), "{file} is not the schema of {name} (PLINTH_UPDATE=1 cargo test writes it); the type gives\n{pretty}");
}
