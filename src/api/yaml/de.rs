//! Typed reading of trees: a serde deserializer whose errors carry field and position, and that notes
//! fields nobody asked for.

use std::cell::RefCell;
use std::fmt;

use serde::de::{
    self, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};

use super::{Content, Entry, Node, Position, YamlError};

/// A field that the type does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The field, such as `spec.levls`.
    pub path: String,
    /// Where its key stands.
    pub at: Position,
}

/// Reads a tree as a type, and which of its fields the type does not have.
///
/// # Errors
/// The tree has not the shape of the type.
pub fn read<'de, T: Deserialize<'de>>(node: &'de Node) -> Result<(T, Vec<Unknown>), YamlError> {
    let track = Track::default();
    let value = T::deserialize(Reader {
        node,
        key_at: node.at,
        track: &track,
    });
    match value {
        Ok(value) => Ok((value, track.unknown.into_inner())),
        Err(Failure { message, place }) => {
            let (path, at) = place.unwrap_or_else(|| (String::new(), node.at));
            Err(YamlError { at, path, message })
        }
    }
}

/// Where the reader is, and what it came across.
#[derive(Default)]
struct Track {
    path: RefCell<String>,
    unknown: RefCell<Vec<Unknown>>,
}

impl Track {
    /// Goes down by one step while `inside` runs.
    fn within<T>(&self, step: impl FnOnce(&mut String), inside: impl FnOnce() -> T) -> T {
        let length = self.path.borrow().len();
        step(&mut self.path.borrow_mut());
        let result = inside();
        self.path.borrow_mut().truncate(length);
        result
    }
}

/// What went wrong, with the place once it is known.
#[derive(Debug)]
struct Failure {
    message: String,
    place: Option<(String, Position)>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl de::Error for Failure {
    fn custom<M: fmt::Display>(message: M) -> Self {
        Self {
            message: message.to_string(),
            place: None,
        }
    }
}

#[derive(Clone, Copy)]
struct Reader<'de, 't> {
    node: &'de Node,
    /// Where the key of this part stands, or the part itself in a list.
    key_at: Position,
    track: &'t Track,
}

impl<'de> Reader<'de, '_> {
    /// Puts this place on a failure that has none yet: the innermost one wins.
    fn placed<T>(self, result: Result<T, Failure>) -> Result<T, Failure> {
        result.map_err(|failure| match failure.place {
            Some(_) => failure,
            None => {
                let place = Some((self.track.path.borrow().clone(), self.node.at));
                Failure { place, ..failure }
            }
        })
    }

    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match &self.node.content {
            Content::Null => visitor.visit_unit(),
            Content::Bool(b) => visitor.visit_bool(*b),
            Content::Number(n) => match (n.as_u64(), n.as_i64(), n.as_f64()) {
                (Some(n), _, _) => visitor.visit_u64(n),
                (_, Some(n), _) => visitor.visit_i64(n),
                (_, _, Some(n)) => visitor.visit_f64(n),
                _ => Err(de::Error::custom("a number out of range")),
            },
            Content::String(s) => visitor.visit_borrowed_str(s),
            Content::List(items) => visitor.visit_seq(List {
                items: items.iter().enumerate(),
                track: self.track,
            }),
            Content::Map(entries) => visitor.visit_map(Members {
                entries: entries.iter(),
                next: None,
                track: self.track,
            }),
        }
    }
}

impl<'de> de::Deserializer<'de> for Reader<'de, '_> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.placed(self.visit(visitor))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.node.content {
            Content::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let result = match &self.node.content {
            // serde would take a list for the fields in order; YAML that looks so is a mistake.
            Content::List(_) => Err(de::Error::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.visit(visitor),
        };
        self.placed(result)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let result = match &self.node.content {
            Content::String(s) => visitor.visit_enum(s.as_str().into_deserializer()),
            _ => self.visit(visitor),
        };
        self.placed(result)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let path = self.track.path.borrow().clone();
        self.track.unknown.borrow_mut().push(Unknown {
            path,
            at: self.key_at,
        });
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier
    }
}

struct List<'de, 't> {
    items: std::iter::Enumerate<std::slice::Iter<'de, Node>>,
    track: &'t Track,
}

impl<'de> SeqAccess<'de> for List<'de, '_> {
    type Error = Failure;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Failure> {
        let Some((i, node)) = self.items.next() else {
            return Ok(None);
        };
        let reader = Reader {
            node,
            key_at: node.at,
            track: self.track,
        };
        let step = |path: &mut String| path.push_str(&format!("[{i}]"));
        self.track
            .within(step, || reader.placed(seed.deserialize(reader)))
            .map(Some)
    }
}

struct Members<'de, 't> {
    entries: std::slice::Iter<'de, Entry>,
    next: Option<&'de Entry>,
    track: &'t Track,
}

impl<'de> MapAccess<'de> for Members<'de, '_> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Failure> {
        self.next = self.entries.next();
        let Some(entry) = self.next else {
            return Ok(None);
        };
        seed.deserialize(de::value::BorrowedStrDeserializer::new(&entry.key))
            .map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Failure> {
        let Some(entry) = self.next.take() else {
            return Err(de::Error::custom("a value without a key"));
        };
        let reader = Reader {
            node: &entry.value,
            key_at: entry.key_at,
            track: self.track,
        };
        let step = |path: &mut String| {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&entry.key);
        };
        self.track
            .within(step, || reader.placed(seed.deserialize(reader)))
    }
}
