//! Values that keep their position through serde.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::U32Deserializer;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, SeqAccess, Visitor};

use super::Position;
use super::de::Reader;
use super::read_error::ReadError;

/// A value with its position; only [`super::from_node`] can create one.
#[derive(Clone, Debug, PartialEq)]
pub struct Located<T> {
    /// Where the value begins.
    pub at: Position,
    /// The value.
    pub value: T,
}

/// The type name by which the tree's deserializer recognizes [`Located`].
pub(super) const LOCATED: &str = "crate::Located";

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Located<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Parts<T> {
            type Value = Located<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value read from YAML")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let missing = || de::Error::custom("the position of the value is unknown");
                let line = seq.next_element()?.ok_or_else(missing)?;
                let column = seq.next_element()?.ok_or_else(missing)?;
                let value = seq.next_element()?.ok_or_else(missing)?;
                let at = Position { line, column };
                Ok(Located { at, value })
            }
        }
        deserializer.deserialize_newtype_struct(LOCATED, Parts(PhantomData))
    }
}

/// `[line, column, value]`, what [`Located`] is read from.
pub(super) struct LocatedParts<'de, 't> {
    reader: Reader<'de, 't>,
    next: u8,
}

impl<'de, 't> LocatedParts<'de, 't> {
    pub(super) fn of(reader: Reader<'de, 't>) -> Self {
        Self { reader, next: 0 }
    }
}

impl<'de> SeqAccess<'de> for LocatedParts<'de, '_> {
    type Error = ReadError;
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        self.next += 1;
        let at = self.reader.at();
        match self.next {
            1 => seed.deserialize(U32Deserializer::new(at.line)),
            2 => seed.deserialize(U32Deserializer::new(at.column)),
            3 => seed.deserialize(self.reader),
            _ => return Ok(None),
        }
        .map(Some)
    }
}
