//! Value validations of the structural schemas of custom resources.

use serde_json::Value;

use super::{Name, Schema};

/// Value validations, upstream's `schema.ValueValidation`.
#[derive(Clone, Debug, Default)]
pub struct ValueValidation {
    /// No `type` is specified, so any type is allowed: in `allOf`, `anyOf`, `oneOf` and `not`, and
    /// with `x-kubernetes-preserve-unknown-fields`.
    pub untyped: bool,
    /// `enum`.
    pub enumeration: Vec<Value>,
    /// `format`; empty if not supported.
    pub format: String,
    /// `pattern`.
    pub pattern: String,
    /// `minLength` and `maxLength`, in Unicode code points.
    pub length: (Option<u64>, Option<u64>),
    /// `minItems` and `maxItems`.
    pub items: (Option<u64>, Option<u64>),
    /// `minProperties` and `maxProperties`.
    pub properties: (Option<u64>, Option<u64>),
    /// `minimum` and whether it is exclusive.
    pub minimum: Option<(f64, bool)>,
    /// `maximum` and whether it is exclusive.
    pub maximum: Option<(f64, bool)>,
    /// `multipleOf`.
    pub multiple_of: Option<f64>,
    /// `uniqueItems`.
    pub unique_items: bool,
    /// `required` property names.
    pub required: Vec<Name>,
    /// `allOf`.
    pub all_of: Vec<Schema>,
    /// `anyOf`.
    pub any_of: Vec<Schema>,
    /// `oneOf`.
    pub one_of: Vec<Schema>,
    /// `not`.
    pub not: Option<Box<Schema>>,
    /// The schema of `metadata` of the root or of an embedded resource.
    pub metadata: Option<Box<Schema>>,
    /// `x-kubernetes-validations`.
    pub validations: Vec<ValidationRule>,
}

impl ValueValidation {
    /// Whether there are no validations.
    pub fn is_empty(&self) -> bool {
        let limits = [self.length, self.items, self.properties];
        !self.untyped
            && self.enumeration.is_empty()
            && self.format.is_empty()
            && self.pattern.is_empty()
            && limits
                .iter()
                .all(|(low, high)| low.is_none() && high.is_none())
            && self.minimum.is_none()
            && self.maximum.is_none()
            && self.multiple_of.is_none()
            && !self.unique_items
            && self.required.is_empty()
            && self.all_of.is_empty()
            && self.any_of.is_empty()
            && self.one_of.is_empty()
            && self.not.is_none()
            && self.metadata.is_none()
            && self.validations.is_empty()
    }
}

/// One entry of `x-kubernetes-validations`.
#[derive(Clone, Debug, Default)]
pub struct ValidationRule {
    /// The CEL expression.
    pub rule: String,
    /// The error message if the rule evaluates to false.
    pub message: String,
    /// A CEL expression of the error message.
    pub message_expression: String,
    /// `FieldValueInvalid`, `FieldValueForbidden`, `FieldValueRequired`, `FieldValueDuplicate`.
    pub reason: String,
    /// The path of the field in the error, relative to the schema of the rule.
    pub field_path: String,
    /// Whether the rule is also evaluated without an old value, with `oldSelf` as a CEL optional.
    pub optional_old_self: bool,
}
