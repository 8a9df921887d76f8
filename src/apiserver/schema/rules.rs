//! Value validations of custom resources, as a structural schema states them.

use serde_json::Value;

use super::Name;

/// What a value must satisfy besides its shape.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// `enum`.
    pub enumeration: Option<Vec<Value>>,
    /// `format`.
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
    /// `x-kubernetes-validations`.
    pub validations: Vec<Rule>,
}

/// One entry of `x-kubernetes-validations`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
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
