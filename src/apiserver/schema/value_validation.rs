//! Value validations of custom resources, as a structural schema states them.

use serde_json::Value;

use super::{Name, Schema};

/// What a value must satisfy besides its shape.
#[derive(Clone, Debug, Default)]
pub struct ValueValidation {
    /// No `type` is stated, so any is allowed; only below `anyOf` and the like, and beside
    /// `x-kubernetes-preserve-unknown-fields`.
    pub untyped: bool,
    /// `enum`.
    pub enumeration: Vec<Value>,
    /// `format`, empty where Kubernetes ignores it.
    pub format: String,
    /// `pattern`.
    pub pattern: String,
    /// `minLength` and `maxLength`, in characters.
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
    /// What the schema says of `metadata` at the root or in an embedded resource.
    pub metadata: Option<Box<Schema>>,
    /// `x-kubernetes-validations`.
    pub validations: Vec<ValidationRule>,
}

impl ValueValidation {
    /// Whether nothing is stated.
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
    /// What to say when it is false.
    pub message: String,
    /// A CEL expression for what to say.
    pub message_expression: String,
    /// `FieldValueInvalid`, `FieldValueForbidden`, `FieldValueRequired`, `FieldValueDuplicate`.
    pub reason: String,
    /// The field the error names, below the rule's own.
    pub field_path: String,
    /// Whether the rule also runs when there is no old value, with `oldSelf` as an optional.
    pub optional_old_self: bool,
}
