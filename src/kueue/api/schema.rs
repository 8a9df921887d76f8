//! Schema markers for the CRD generator: patterns of names, list types, CEL rules.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// A DNS subdomain (RFC 1123), the form of most object names.
pub(crate) const SUBDOMAIN: &str =
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// A DNS label (RFC 1123).
pub(crate) const LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// A qualified name as label keys have it: an optional DNS prefix, a slash, a name.
pub(crate) const QUALIFIED: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";

/// Declares a marker type with the schema of a string.
macro_rules! string_schema {
    ($(#[$meta:meta])* $name:ident $body:tt) => {
        $(#[$meta])*
        pub(crate) enum $name {}

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($body)
            }
        }
    };
}

string_schema! {
    /// The name of an object: a DNS subdomain of at most 253 characters.
    ObjectName { "type": "string", "maxLength": 253, "pattern": SUBDOMAIN }
}
string_schema! {
    /// The name of a pod set: a DNS label of at most 63 characters.
    PodSetName { "type": "string", "maxLength": 63, "pattern": LABEL }
}
string_schema! {
    /// The name of an AdmissionCheck.
    CheckName { "type": "string", "minLength": 1, "maxLength": 316 }
}
string_schema! {
    /// A parameter of a ProvisioningRequest.
    Parameter { "type": "string", "maxLength": 255 }
}
string_schema! {
    /// A moment as RFC 3339 text.
    DateTime { "type": "string", "format": "date-time" }
}
string_schema! {
    /// A quantity as the types of Kubernetes declare it: a number or text.
    Amount {
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "pattern": QUANTITY,
        "x-kubernetes-int-or-string": true,
    }
}

/// The pattern of quantities in upstream's CRDs.
pub(crate) const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// `x-kubernetes-validations`: CEL rules with their messages.
pub(crate) fn cel(rules: &[(&str, &str)]) -> Value {
    rules
        .iter()
        .map(|(rule, message)| json!({ "message": message, "rule": rule }))
        .collect()
}

/// The CEL rules of lists of tolerations.
pub(crate) fn toleration_rules() -> Value {
    cel(&[
        (
            "self.all(x, !has(x.key) ? x.operator == 'Exists' : true)",
            "operator must be Exists when 'key' is empty, which means 'match all values and all keys'",
        ),
        (
            "self.all(x, has(x.tolerationSeconds) ? x.effect == 'NoExecute' : true)",
            "effect must be 'NoExecute' when 'tolerationSeconds' is set",
        ),
        (
            "self.all(x, !has(x.operator) || x.operator in ['Equal', 'Exists'])",
            "supported toleration values: 'Equal'(default), 'Exists'",
        ),
        (
            "self.all(x, has(x.operator) && x.operator == 'Exists' ? !has(x.value) : true)",
            "a value must be empty when 'operator' is 'Exists'",
        ),
        (
            "self.all(x, !has(x.effect) || x.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",
            "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'",
        ),
    ])
}
