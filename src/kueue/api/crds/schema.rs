//! Walks an embedded schema without expanding it: shared definitions are resolved during the walk.

use serde_json::Value;

use super::expand_refs;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaType {
    /// A map with known or any members.
    Object,
    /// A list.
    Array,
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A whole number or text.
    IntOrString,
}

impl SchemaType {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::IntOrString => "integer,string",
        }
    }
}

/// The schema of one part of an object.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// The schema itself.
    inline: &'static Value,
    /// The shared part that it references.
    referenced: Option<&'static Value>,
}

impl Schema {
    pub(super) fn root(name: &str) -> Option<Self> {
        expand_refs::parsed_schema(name).map(Self::at)
    }

    fn at(inline: &'static Value) -> Self {
        let referenced = inline
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(expand_refs::parsed_schema);
        Self { inline, referenced }
    }

    /// A keyword of the schema, such as `maxItems`.
    pub fn keyword(self, name: &str) -> Option<&'static Value> {
        self.inline.get(name).or_else(|| self.referenced?.get(name))
    }

    /// The type; `None` if unspecified.
    pub(crate) fn schema_type(self) -> Option<SchemaType> {
        if self.keyword("x-kubernetes-int-or-string").is_some() {
            return Some(SchemaType::IntOrString);
        }
        Some(match self.keyword("type")?.as_str()? {
            "object" => SchemaType::Object,
            "array" => SchemaType::Array,
            "string" => SchemaType::String,
            "integer" => SchemaType::Integer,
            "number" => SchemaType::Number,
            "boolean" => SchemaType::Boolean,
            _ => return None,
        })
    }

    /// The schema of a member.
    pub fn property(self, name: &str) -> Option<Self> {
        self.keyword("properties")?.get(name).map(Self::at)
    }

    /// The names of the members, in order.
    pub fn properties(self) -> impl Iterator<Item = &'static str> {
        let members = self.keyword("properties").and_then(Value::as_object);
        members.into_iter().flatten().map(|(name, _)| name.as_str())
    }

    /// The schema of the items of a list.
    pub fn items(self) -> Option<Self> {
        self.keyword("items").map(Self::at)
    }

    /// The schema of the values of a map with any keys.
    pub(crate) fn additional_properties(self) -> Option<Self> {
        self.keyword("additionalProperties")
            .filter(|s| s.is_object())
            .map(Self::at)
    }

    /// The names of the required members.
    pub fn required(self) -> impl Iterator<Item = &'static str> {
        let required = self.keyword("required").and_then(Value::as_array);
        required.into_iter().flatten().filter_map(Value::as_str)
    }

    /// A limit, such as `maxLength`.
    pub fn limit(self, keyword: &str) -> Option<i64> {
        self.keyword(keyword)?.as_i64()
    }
}
