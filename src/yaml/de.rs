//! Trees to typed values through serde, with the place of whatever does not fit.

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};

use super::located::{LOCATED, Parts};
use super::read_error::ReadError;
use super::{Entry, Kind, Limits, Node, Problem, parse_one};

/// Reads a typed value from a tree. Types that `deny_unknown_fields` get unknown fields refused at
/// the key's place.
///
/// # Errors
/// The first value that does not fit the type.
pub fn from_node<T: DeserializeOwned>(node: &Node) -> Result<T, Problem> {
    T::deserialize(node).map_err(|e| e.problem(node.at))
}

/// Reads a typed value from a text of one document.
///
/// # Errors
/// As [`parse_one`] and [`from_node`].
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    from_node(&parse_one(text, Limits::default())?)
}

impl<'de> IntoDeserializer<'de, ReadError> for &'de Node {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.kind {
            Kind::Null => visitor.visit_unit(),
            Kind::Bool(b) => visitor.visit_bool(*b),
            Kind::Number(n) => match (n.as_u64(), n.as_i64()) {
                (Some(n), _) => visitor.visit_u64(n),
                (None, Some(n)) => visitor.visit_i64(n),
                (None, None) => visitor.visit_f64(n.as_f64().unwrap_or(f64::MAX)),
            },
            Kind::Text(s) => visitor.visit_borrowed_str(s),
            Kind::List(items) => visitor.visit_seq(Items(items.iter())),
            Kind::Map(entries) => visitor.visit_map(Entries::new(entries)),
        }
        .map_err(|e: ReadError| e.within(self.at))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.kind {
            // The commonest slip: `yes` or `6` unquoted where a string belongs.
            Kind::Bool(_) | Kind::Number(_) => Err(de::Error::custom(format_args!(
                "expected a string, found {}; put quotes around it",
                self.describe()
            ))),
            _ => self.deserialize_any(visitor),
        }
        .map_err(|e: ReadError| e.within(self.at))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        if name == LOCATED {
            visitor.visit_seq(Parts::of(self))
        } else {
            visitor.visit_newtype_struct(self)
        }
        .map_err(|e: ReadError| e.within(self.at))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match &self.kind {
            // Serde would fill a struct from a list by position; nobody writes that.
            Kind::List(_) => Err(de::Error::invalid_type(de::Unexpected::Seq, &visitor)),
            _ => self.deserialize_any(visitor),
        }
        .map_err(|e: ReadError| e.within(self.at))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match &self.kind {
            Kind::Text(s) => visitor.visit_enum(s.as_str().into_deserializer()),
            Kind::Map(entries) if entries.len() == 1 => visitor.visit_enum(Variant(&entries[0])),
            Kind::Map(_) => Err(de::Error::custom("exactly one key may stand here")),
            _ => Err(de::Error::custom(format_args!(
                "expected a name, found {}",
                self.describe()
            ))),
        }
        .map_err(|e: ReadError| e.within(self.at))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit seq tuple
        tuple_struct map identifier ignored_any
    }
}

struct Items<'de>(std::slice::Iter<'de, Node>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = ReadError;
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        let item = self.0.next();
        item.map(|n| seed.deserialize(n).map_err(|e| e.within(n.at)))
            .transpose()
    }
    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Entries<'de> {
    rest: std::slice::Iter<'de, Entry>,
    value: Option<&'de Node>,
}

impl<'de> Entries<'de> {
    fn new(entries: &'de [Entry]) -> Self {
        Self {
            rest: entries.iter(),
            value: None,
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = ReadError;
    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadError> {
        let Some(entry) = self.rest.next() else {
            return Ok(None);
        };
        self.value = Some(&entry.value);
        let key = StrDeserializer::<ReadError>::new(&entry.key);
        seed.deserialize(key)
            .map(Some)
            .map_err(|e| e.within(entry.at))
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let node = self.value.take().ok_or_else(|| {
            <ReadError as de::Error>::custom("a value was asked for before its key")
        })?;
        seed.deserialize(node).map_err(|e| e.within(node.at))
    }
}

/// An enum variant written as a mapping of one key.
struct Variant<'de>(&'de Entry);

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = ReadError;
    type Variant = &'de Node;
    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self::Variant), ReadError> {
        let key = StrDeserializer::<ReadError>::new(&self.0.key);
        let variant = seed.deserialize(key).map_err(|e| e.within(self.0.at))?;
        Ok((variant, &self.0.value))
    }
}

impl<'de> VariantAccess<'de> for &'de Node {
    type Error = ReadError;
    fn unit_variant(self) -> Result<(), ReadError> {
        <()>::deserialize(self)
    }
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        seed.deserialize(self).map_err(|e| e.within(self.at))
    }
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_any(visitor)
    }
    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match &self.kind {
            Kind::Map(entries) => MapAccessDeserializer::new(Entries::new(entries))
                .deserialize_any(visitor)
                .map_err(|e| e.within(self.at)),
            _ => self.deserialize_any(visitor),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::yaml::Located;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Task {
        name: String,
        #[serde(default)]
        cpus: Option<Located<f64>>,
        #[serde(default)]
        labels: BTreeMap<String, String>,
        #[serde(default)]
        does: Vec<Does>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Does {
        Nothing,
        Wait { seconds: u32 },
        Say(String),
    }

    fn problem(text: &str) -> String {
        from_str::<Task>(text).unwrap_err().to_string()
    }

    #[test]
    fn a_type_is_filled_and_places_are_kept() {
        let task: Task = from_str(
            "name: a\ncpus: 6\nlabels: {k: v}\ndoes:\n- nothing\n- wait: {seconds: 3}\n- say: hi\n",
        )
        .unwrap();
        let cpus = task.cpus.unwrap();
        assert_eq!((cpus.at.to_string().as_str(), cpus.value), ("2:7", 6.0));
        assert_eq!(
            task.does,
            [
                Does::Nothing,
                Does::Wait { seconds: 3 },
                Does::Say("hi".into())
            ]
        );
    }

    #[test]
    fn complaints_name_the_place_and_the_likely_word() {
        for (text, expected) in [
            (
                "name: a\nlabel: {}\n",
                r#"2:1: unknown field "label"; did you mean "labels"?"#,
            ),
            ("cpus: 1\n", r#"1:1: the field "name" is missing"#),
            (
                "name: yes\n",
                "1:7: expected a string, found the boolean yes; put quotes around it",
            ),
            (
                "name: a\nlabels:\n  k: 6.0\n",
                "3:6: expected a string, found the number 6.0; put quotes around it",
            ),
            (
                "name: a\ncpus: [1]\n",
                "2:7: expected a number, found a list",
            ),
            (
                "name: a\ndoes:\n- wait: {seconds: soon}\n",
                r#"3:19: expected a whole number, not negative, found the string "soon""#,
            ),
            (
                "name: a\ndoes:\n- wiat: {}\n",
                r#"3:3: unknown value "wiat"; did you mean "wait"?"#,
            ),
        ] {
            assert_eq!(problem(text), expected);
        }
    }
}
