//! [`Located`]: a value of a file with its position and a JSON schema.

use std::borrow::Cow;

use kueue_lab_yaml::Position;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};

/// [`kueue_lab_yaml::Located`] with the JSON schema of the value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Located<T> {
    /// Where the value begins.
    pub(crate) at: Position,
    /// The value.
    pub(crate) value: T,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Located<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let kueue_lab_yaml::Located { at, value } = Deserialize::deserialize(deserializer)?;
        Ok(Self { at, value })
    }
}

impl<T: JsonSchema> JsonSchema for Located<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
