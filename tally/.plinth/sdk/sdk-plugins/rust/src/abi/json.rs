use crate::Result;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::ser::{CompactFormatter, Formatter};
use serde_json::value::RawValue;
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
        Ok(serde_json::from_slice(self.text().as_bytes())?)
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
        let mut text = Vec::with_capacity(32);
        CompactFormatter.write_f64(&mut text, value)?;
        write_number(to, &text)
    }

    fn write_f32<W: io::Write + ?Sized>(&mut self, to: &mut W, value: f32) -> io::Result<()> {
        let mut text = Vec::with_capacity(32);
        CompactFormatter.write_f32(&mut text, value)?;
        write_number(to, &text)
    }
}

/// Writes a number in Go's form: its digits are right, but where the point is told by an
/// exponent and whether there is a fraction of 0 is not. The standard library's own
/// formats would make a module 20 KB larger.
fn write_number<W: io::Write + ?Sized>(to: &mut W, text: &[u8]) -> io::Result<()> {
    let (mut digits, mut point, mut exponent) = (Vec::with_capacity(32), None, 0_i32);
    let (text, negative) = match text {
        [b'-', rest @ ..] => (rest, true),
        _ => (text, false),
    };
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'.' => point = Some(digits.len()),
            b'e' => {
                let (sign, rest) = match &text[at + 1..] {
                    [b'-', rest @ ..] => (-1, rest),
                    [b'+', rest @ ..] | rest => (1, rest),
                };
                exponent = sign * rest.iter().fold(0, |number, digit| number * 10 + i32::from(digit - b'0'));
                break;
            }
            digit => digits.push(*digit),
        }
    }
    // The number is 0.DIGITS times ten to the power of `power`.
    let mut power = point.unwrap_or(digits.len()) as i32 + exponent;
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    digits.drain(..zeros);
    power -= zeros as i32;
    while digits.last() == Some(&b'0') {
        digits.pop();
    }
    if negative {
        to.write_all(b"-")?;
    }
    if digits.is_empty() {
        return to.write_all(b"0");
    }
    if !(-5..=21).contains(&power) {
        to.write_all(&digits[..1])?;
        if digits.len() > 1 {
            to.write_all(b".")?;
            to.write_all(&digits[1..])?;
        }
        return write!(to, "e{:+}", power - 1);
    }
    if power <= 0 {
        to.write_all(b"0.")?;
    }
    for at in power.min(0)..(digits.len() as i32).max(power) {
        if at == power && at > 0 {
            to.write_all(b".")?;
        }
        let digit = usize::try_from(at).ok().and_then(|at| digits.get(at)).unwrap_or(&b'0');
        to.write_all(&[*digit])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Json;

    /// What encoding/json of Go writes.
    #[test]
    fn numbers_are_written_as_go_does() {
        for (value, want) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (100.0, "100"),
            (0.1, "0.1"),
            (12345.678, "12345.678"),
            (0.000_001, "0.000001"),
            (0.000_012_3, "0.0000123"),
            (9.9e-7, "9.9e-7"),
            (1e-7, "1e-7"),
            (1e20, "100000000000000000000"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1e21, "1e+21"),
            (1.25e22, "1.25e+22"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(Json::of(&value).unwrap().text(), want);
        }
        for (value, want) in [(0.1_f32, "0.1"), (16_777_216.0, "16777216"), (3.4e38, "3.4e+38")] {
            assert_eq!(Json::of(&value).unwrap().text(), want);
        }
    }

    #[test]
    fn texts_are_written_as_go_does() {
        let text = "<a> & \u{2028}\u{2029}\u{7f} \u{8}\u{c}\n\u{1}\"\\ é \u{1f600}";
        assert_eq!(Json::of(text).unwrap().text(), "\"<a> & \\u2028\\u2029\u{7f} \\b\\f\\n\\u0001\\\"\\\\ é \u{1f600}\"");
    }
}
