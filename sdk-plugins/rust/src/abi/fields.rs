//! Reads messages. What serde derives would do the same, but a provider's module would be 36 KB
//! larger: it reads structs from arrays too, and holds each field in an option of its own until
//! all have come.

use super::Json;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::Deserialize;
use std::fmt;
use std::marker::PhantomData;

/// A message that is read field by field, in any order.
pub(crate) trait Fields<'de>: Default {
    /// Of the fields on the wire.
    const NAMES: &'static [&'static str];

    /// Reads the value of the field with that index in the names, or one that has none.
    fn read<A: MapAccess<'de>>(&mut self, field: usize, from: &mut A) -> Result<(), A::Error>;
}

/// Has a message read from an object: `fields!(TYPE: FIELD, …)` with all fields of the type,
/// `FIELD as "NAME"` for one with another name on the wire, and `FIELD by READER` for one that
/// may be null. Missing fields have the default of the message, unknown ones are passed over.
macro_rules! fields {
    ($type:ident $(<$of:ident>)?: $($field:ident $(as $name:literal)? $(by $reader:ident)?),+) => {
        impl<'de $(, $of: serde::Deserialize<'de> + Default)?> $crate::abi::fields::Fields<'de> for $type $(<$of>)? {
            const NAMES: &'static [&'static str] = &[$($crate::abi::fields::name!($field $($name)?)),+];

            fn read<A: serde::de::MapAccess<'de>>(&mut self, field: usize, from: &mut A) -> Result<(), A::Error> {
                #[allow(non_camel_case_types)]
                enum At { $($field),+ }
                let $type { $($field),+ } = self;
                $(if field == At::$field as usize {
                    *$field = $crate::abi::fields::value!(from $($reader)?)?;
                    return Ok(());
                })+
                from.next_value::<serde::de::IgnoredAny>().map(drop)
            }
        }

        impl<'de $(, $of: serde::Deserialize<'de> + Default)?> serde::Deserialize<'de> for $type $(<$of>)? {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::abi::fields::read(from)
            }
        }
    };
}

macro_rules! name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:literal) => {
        $name
    };
}

macro_rules! value {
    ($from:ident) => {
        $from.next_value()
    };
    ($from:ident $reader:ident) => {
        $crate::abi::fields::$reader($from)
    };
}

pub(crate) use {fields, name, value};

/// Reads a list or a map; the host may say null for an empty one.
pub(crate) fn nullable<'de, A: MapAccess<'de>, T: Deserialize<'de> + Default>(from: &mut A) -> Result<T, A::Error> {
    Ok(from.next_value::<Option<T>>()?.unwrap_or_default())
}

/// Reads JSON that may be null, which is a value like others.
pub(crate) fn present<'de, A: MapAccess<'de>>(from: &mut A) -> Result<Option<Json>, A::Error> {
    from.next_value().map(Some)
}

/// Reads a message.
pub(crate) fn read<'de, T: Fields<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_map(Object(PhantomData))
}

struct Object<T>(PhantomData<T>);

impl<'de, T: Fields<'de>> Visitor<'de> for Object<T> {
    type Value = T;

    fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<T, A::Error> {
        let mut message = T::default();
        while let Some(field) = from.next_key_seed(Name(T::NAMES))? {
            message.read(field, &mut from)?;
        }
        Ok(message)
    }
}

/// Reads a name as its index in names, or their number when it is none of them.
struct Name(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Name {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<usize, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = usize;

    fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        Ok(self.0.iter().position(|known| *known == name).unwrap_or(self.0.len()))
    }
}

#[cfg(test)]
mod tests {
    use crate::abi::{Json, Message, Part};

    fn read(text: &str) -> Result<Message, String> {
        Json::parse(text).and_then(|json| json.read()).map_err(|error: crate::Error| error.message)
    }

    #[test]
    fn fields_come_in_any_order_and_may_be_missing_or_unknown() {
        let part = Part { kind: "text".into(), text: "hi".into(), ..Part::default() };
        let message = Message { role: "user".into(), parts: vec![part], ..Message::default() };
        assert_eq!(read(r#"{"parts": [{"text": "hi", "new": [{}], "type": "text"}], "r\u006fle": "user"}"#), Ok(message));
        assert_eq!(read("{}"), Ok(Message::default()));
    }

    #[test]
    fn null_is_an_empty_list_and_json() {
        let part = Part { input: Some(Json::default()), ..Part::default() };
        assert_eq!(read(r#"{"parts": [{"input": null}]}"#), Ok(Message { parts: vec![part], ..Message::default() }));
        assert_eq!(read(r#"{"parts": null}"#), Ok(Message::default()));
    }

    #[test]
    fn what_is_no_object_or_another_type_is_refused() {
        for (text, want) in [
            (r#"["m1", "user", []]"#, "invalid type: sequence, expected an object at line 1 column 0"),
            (r#"{"id": 1}"#, "invalid type: integer `1`, expected a string at line 1 column 8"),
            (r#"{"id": null}"#, "invalid type: null, expected a string at line 1 column 11"),
        ] {
            assert_eq!(read(text).unwrap_err(), want);
        }
    }
}
