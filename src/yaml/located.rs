//! Values that remember their place through serde.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::U32Deserializer;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, SeqAccess, Visitor};

use super::read_error::ReadError;
use super::{Node, Position};

/// A value together with the place it stands at; only [`super::from_node`] can make one.
#[derive(Clone, Debug, PartialEq)]
pub struct Located<T> {
    /// Where the value begins.
    pub at: Position,
    /// The value.
    pub value: T,
}

/// The type name by which the tree's deserializer knows that a place is wanted.
pub(super) const LOCATED: &str = "kueue_lab::yaml::Located";

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Located<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Parts<T> {
            type Value = Located<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value read from YAML")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let missing = || de::Error::custom("the value's place is not known");
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
pub(super) struct Parts<'de> {
    node: &'de Node,
    next: u8,
}

impl<'de> Parts<'de> {
    pub(super) fn of(node: &'de Node) -> Self {
        Self { node, next: 0 }
    }
}

impl<'de> SeqAccess<'de> for Parts<'de> {
    type Error = ReadError;
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        self.next += 1;
        match self.next {
            1 => seed.deserialize(U32Deserializer::new(self.node.at.line)),
            2 => seed.deserialize(U32Deserializer::new(self.node.at.column)),
            3 => seed.deserialize(self.node),
            _ => return Ok(None),
        }
        .map(Some)
    }
}
