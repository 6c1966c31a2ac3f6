use crate::Result;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::ser::Formatter;
use serde_json::value::RawValue;
use std::fmt::{Display, LowerExp};
use std::io;

/// JSON as it stands in a message: byte by byte what was written, also when it is passed
/// on. The default is null.
///
/// ```
/// use plinth::abi::Json;
/// let json = Json::of(&["a", "b"])?;
/// assert_eq!(json.text(), r#"["a","b"]"#);
/// assert_eq!(json.read::<Vec<String>>()?, ["a", "b"]);
/// # Ok::<(), plinth::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Json(Box<RawValue>);

impl Json {
    /// The JSON of a value.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Json> {
        let text = String::from_utf8(to_vec(value)?)?;
        Ok(Json(RawValue::from_string(text)?))
    }

    /// JSON that is written already; an error when it is none.
    pub fn parse(text: impl Into<String>) -> Result<Json> {
        Ok(Json(RawValue::from_string(text.into())?))
    }

    /// Reads a value.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(serde_json::from_str(self.text())?)
    }

    /// The JSON.
    pub fn text(&self) -> &str {
        self.0.get()
    }
}

impl Default for Json {
    fn default() -> Json {
        Json(RawValue::NULL.to_owned())
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Json) -> bool {
        self.text() == other.text()
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Json, D::Error> {
        Box::<RawValue>::deserialize(from).map(Json)
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl schemars::JsonSchema for Json {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Json".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::Schema::default()
    }
}

/// Writes a value as the SDK for Go does.
pub(crate) fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    let mut text = Vec::with_capacity(256);
    append(&mut text, value)?;
    Ok(text)
}

pub(crate) fn append<T: Serialize + ?Sized>(to: &mut Vec<u8>, value: &T) -> Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(to, Wire))?;
    Ok(())
}

/// Compact JSON in Go's form: the line ends of JavaScript are escaped, other characters
/// beyond ASCII are not, and a number has an exponent just where it is long otherwise.
struct Wire;

impl Formatter for Wire {
    fn write_string_fragment<W: io::Write + ?Sized>(&mut self, to: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['\u{2028}', '\u{2029}']) {
            let (before, from) = rest.split_at(at);
            to.write_all(before.as_bytes())?;
            to.write_all(if from.starts_with('\u{2028}') { b"\\u2028" } else { b"\\u2029" })?;
            rest = &from['\u{2028}'.len_utf8()..];
        }
        to.write_all(rest.as_bytes())
    }

    fn write_f64<W: io::Write + ?Sized>(&mut self, to: &mut W, value: f64) -> io::Result<()> {
        write_number(to, &value, value.abs())
    }

    fn write_f32<W: io::Write + ?Sized>(&mut self, to: &mut W, value: f32) -> io::Result<()> {
        write_number(to, &value, value.abs().into())
    }
}

/// Writes the shortest text that reads as the number.
fn write_number<W: io::Write + ?Sized>(to: &mut W, value: &(impl Display + LowerExp), size: f64) -> io::Result<()> {
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return write!(to, "{value}");
    }
    let text = format!("{value:e}");
    match text.split_once("e") {
        Some((digits, exponent)) if !exponent.starts_with('-') => write!(to, "{digits}e+{exponent}"),
        _ => to.write_all(text.as_bytes()),
    }
}
