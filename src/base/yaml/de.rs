//! Deserializes trees to typed values through serde, with field path and position of type errors.

use std::cell::RefCell;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};

use super::located::{LOCATED, LocatedParts};
use super::read_error::ReadError;
use super::{
    Entry, Kind, Limits, Node, Position, Problem, TypeMismatch, UnknownField, closest, parse_one,
};

/// Reads a typed value from a tree, and lists the fields of the tree that the type does not have.
/// Types with `deny_unknown_fields` reject them at the position of the key instead.
///
/// # Errors
/// The first value that does not fit the type.
pub fn read<T: DeserializeOwned>(node: &Node) -> Result<(T, Vec<UnknownField>), TypeMismatch> {
    let track = ReadState::default();
    let reader = Reader {
        node,
        key_at: node.at,
        siblings: &[],
        track: &track,
    };
    let value = T::deserialize(reader).map_err(|e| e.into_type_mismatch(node.at))?;
    Ok((value, track.unknown.into_inner()))
}

/// Reads a typed value from a tree. Types with `deny_unknown_fields` reject unknown fields at the
/// position of the key; others ignore them.
///
/// # Errors
/// The first value that does not fit the type.
pub fn from_node<T: DeserializeOwned>(node: &Node) -> Result<T, Problem> {
    let (value, _) = read(node)?;
    Ok(value)
}

/// Reads a typed value from a text of one document.
///
/// # Errors
/// As [`parse_one`] and [`from_node`].
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    from_node(&parse_one(text, Limits::default())?)
}

/// The reader's current path, and the unknown fields found.
#[derive(Default)]
struct ReadState {
    path: RefCell<String>,
    unknown: RefCell<Vec<UnknownField>>,
}

/// A value that is being read.
#[derive(Clone, Copy)]
pub(super) struct Reader<'de, 't> {
    node: &'de Node,
    /// The position of its key, or of the item itself in a list.
    key_at: Position,
    /// The fields of the type it belongs to.
    siblings: &'static [&'static str],
    track: &'t ReadState,
}

impl<'de, 't> Reader<'de, 't> {
    /// The position of the value.
    pub(super) fn at(self) -> Position {
        self.node.at
    }

    /// Sets this position on an error that has none: the innermost position wins.
    fn with_position<T>(self, result: Result<T, ReadError>) -> Result<T, ReadError> {
        result.map_err(|e| e.within(&self.track.path.borrow(), self.node.at))
    }

    /// Reads one level deeper.
    fn descend<T: DeserializeSeed<'de>>(self, step: &str, seed: T) -> Result<T::Value, ReadError> {
        let length = self.track.path.borrow().len();
        self.track.path.borrow_mut().push_str(step);
        let result = self.with_position(seed.deserialize(self));
        self.track.path.borrow_mut().truncate(length);
        result
    }

    fn entries(self, entries: &'de [Entry], fields: &'static [&'static str]) -> Entries<'de, 't> {
        Entries {
            rest: entries.iter(),
            value: None,
            fields,
            track: self.track,
        }
    }

    fn visit<V: Visitor<'de>>(
        self,
        visitor: V,
        fields: &'static [&'static str],
    ) -> Result<V::Value, ReadError> {
        match &self.node.kind {
            Kind::Null => visitor.visit_unit(),
            Kind::Bool(b) => visitor.visit_bool(*b),
            Kind::Number(n) => match (n.as_u64(), n.as_i64()) {
                (Some(n), _) => visitor.visit_u64(n),
                (None, Some(n)) => visitor.visit_i64(n),
                (None, None) => visitor.visit_f64(n.as_f64().unwrap_or(f64::MAX)),
            },
            Kind::Text(s) => visitor.visit_borrowed_str(s),
            Kind::List(items) => visitor.visit_seq(Items {
                rest: items.iter().enumerate(),
                track: self.track,
            }),
            Kind::Map(entries) => visitor.visit_map(self.entries(entries, fields)),
        }
    }
}

impl<'de> Deserializer<'de> for Reader<'de, '_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.with_position(self.visit(visitor, &[]))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.with_position(match &self.node.kind {
            // The most common error: an unquoted `yes` or `6` where a string is required.
            Kind::Bool(_) | Kind::Number(_) => Err(de::Error::custom(format_args!(
                "expected a string, found {}; put quotes around it",
                self.node.describe()
            ))),
            _ => self.visit(visitor, &[]),
        })
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.node.kind {
            Kind::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.with_position(match name {
            LOCATED => visitor.visit_seq(LocatedParts::of(self)),
            _ => visitor.visit_newtype_struct(self),
        })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.with_position(match &self.node.kind {
            // Serde would fill a struct from a list by position; manifests never mean that.
            Kind::List(_) => Err(de::Error::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.visit(visitor, fields),
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.with_position(match &self.node.kind {
            Kind::Text(s) => visitor.visit_enum(s.as_str().into_deserializer()),
            Kind::Map(entries) if entries.len() == 1 => visitor.visit_enum(Variant {
                entry: &entries[0],
                track: self.track,
            }),
            Kind::Map(_) => Err(de::Error::custom("expected exactly one key")),
            _ => Err(de::Error::custom(format_args!(
                "expected a name, found {}",
                self.node.describe()
            ))),
        })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let path = self.track.path.borrow().clone();
        let name = path.rsplit('.').next().unwrap_or_default();
        let meant = closest(name, self.siblings.iter().copied());
        self.track.unknown.borrow_mut().push(UnknownField {
            suggestion: meant,
            path,
            at: self.key_at,
        });
        visitor.visit_unit()
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
        tuple_struct map identifier
    }
}

struct Items<'de, 't> {
    rest: std::iter::Enumerate<std::slice::Iter<'de, Node>>,
    track: &'t ReadState,
}

impl<'de> SeqAccess<'de> for Items<'de, '_> {
    type Error = ReadError;
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        let Some((i, node)) = self.rest.next() else {
            return Ok(None);
        };
        let reader = Reader {
            node,
            key_at: node.at,
            siblings: &[],
            track: self.track,
        };
        reader.descend(&format!("[{i}]"), seed).map(Some)
    }
    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Entries<'de, 't> {
    rest: std::slice::Iter<'de, Entry>,
    value: Option<&'de Entry>,
    fields: &'static [&'static str],
    track: &'t ReadState,
}

impl<'de> MapAccess<'de> for Entries<'de, '_> {
    type Error = ReadError;
    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadError> {
        let Some(entry) = self.rest.next() else {
            return Ok(None);
        };
        self.value = Some(entry);
        let key = StrDeserializer::<ReadError>::new(&entry.key);
        seed.deserialize(key)
            .map(Some)
            .map_err(|e| e.within(&self.track.path.borrow(), entry.at))
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let entry = self.value.take().ok_or_else(|| {
            <ReadError as de::Error>::custom("a value was requested before its key")
        })?;
        let reader = Reader {
            node: &entry.value,
            key_at: entry.at,
            siblings: self.fields,
            track: self.track,
        };
        let dot = match self.track.path.borrow().is_empty() {
            true => "",
            false => ".",
        };
        reader.descend(&format!("{dot}{}", entry.key), seed)
    }
}

/// An enum variant written as a mapping with one key.
struct Variant<'de, 't> {
    entry: &'de Entry,
    track: &'t ReadState,
}

impl<'de, 't> EnumAccess<'de> for Variant<'de, 't> {
    type Error = ReadError;
    type Variant = Reader<'de, 't>;
    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self::Variant), ReadError> {
        let key = StrDeserializer::<ReadError>::new(&self.entry.key);
        let variant = seed
            .deserialize(key)
            .map_err(|e| e.within(&self.track.path.borrow(), self.entry.at))?;
        let reader = Reader {
            node: &self.entry.value,
            key_at: self.entry.at,
            siblings: &[],
            track: self.track,
        };
        Ok((variant, reader))
    }
}

impl<'de> VariantAccess<'de> for Reader<'de, '_> {
    type Error = ReadError;
    fn unit_variant(self) -> Result<(), ReadError> {
        <()>::deserialize(self)
    }
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        self.with_position(seed.deserialize(self))
    }
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_any(visitor)
    }
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match &self.node.kind {
            Kind::Map(entries) => self.with_position(
                MapAccessDeserializer::new(self.entries(entries, fields)).deserialize_any(visitor),
            ),
            _ => self.deserialize_any(visitor),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Located;

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
    fn types_keep_positions() {
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
    fn errors_have_a_position_and_a_suggestion() {
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
