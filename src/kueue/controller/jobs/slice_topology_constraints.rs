//! The annotation `podset-slice-required-topology-constraints`: a JSON array, with the errors of
//! Go's `encoding/json`.

use serde_json::{Map, Value};

use kueue_lab_api::v1beta2::PodsetSliceRequiredTopologyConstraint;
use kueue_lab_json::go_syntax_error;

const TYPE: &str = "PodsetSliceRequiredTopologyConstraint";

/// The annotation is not an array of constraints, with the message of Go's `json.Unmarshal`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseConstraintsError {
    /// It is not JSON; Go's message.
    #[error("{0}")]
    Syntax(String),
    /// A value has another type.
    #[error("json: cannot unmarshal {found} into Go {wanted}")]
    Type {
        /// The kind of the value.
        found: String,
        /// The Go value with its type.
        wanted: String,
    },
}

/// Parses the annotation.
///
/// # Errors
/// It is not an array of constraints.
pub(super) fn parse_slice_topology_constraints(
    text: &str,
) -> Result<Vec<PodsetSliceRequiredTopologyConstraint>, ParseConstraintsError> {
    let value = serde_json::from_str(text).map_err(|error| {
        let message = go_syntax_error(text.as_bytes());
        ParseConstraintsError::Syntax(message.unwrap_or_else(|| error.to_string()))
    })?;
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => items.iter().map(constraint).collect(),
        other => Err(wrong_type(
            &other,
            &format!("value of type []v1beta2.{TYPE}"),
        )),
    }
}

fn constraint(
    value: &Value,
) -> Result<PodsetSliceRequiredTopologyConstraint, ParseConstraintsError> {
    let fields = match value {
        Value::Null => return Ok(PodsetSliceRequiredTopologyConstraint::default()),
        Value::Object(fields) => fields,
        other => return Err(wrong_type(other, &format!("value of type v1beta2.{TYPE}"))),
    };
    let topology = match field(fields, "topology") {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => return Err(wrong_type(other, &struct_field("topology", "string"))),
    };
    let size = match field(fields, "size") {
        Value::Null => 0,
        other => {
            let number = other.as_i64().and_then(|n| n.try_into().ok());
            number.ok_or_else(|| wrong_type(other, &struct_field("size", "int32")))?
        }
    };
    Ok(PodsetSliceRequiredTopologyConstraint { topology, size })
}

fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a Value {
    fields.get(name).unwrap_or(&Value::Null)
}

fn struct_field(name: &str, type_: &str) -> String {
    format!("struct field {TYPE}.{name} of type {type_}")
}

fn wrong_type(value: &Value, wanted: &str) -> ParseConstraintsError {
    let found = match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        // The error contains a number that does not fit the type.
        Value::Number(number) if wanted.ends_with("int32") => format!("number {number}"),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    };
    ParseConstraintsError::Type {
        found,
        wanted: wanted.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_those_of_go() {
        let error = |text: &str| {
            let error = parse_slice_topology_constraints(text).unwrap_err();
            error.to_string()
        };
        assert_eq!(
            error("not json"),
            "invalid character 'o' in literal null (expecting 'u')"
        );
        assert_eq!(error(""), "unexpected end of JSON input");
        assert_eq!(
            error("{}"),
            "json: cannot unmarshal object into Go value of type []v1beta2.PodsetSliceRequiredTopologyConstraint"
        );
        assert_eq!(
            error("[1]"),
            "json: cannot unmarshal number into Go value of type v1beta2.PodsetSliceRequiredTopologyConstraint"
        );
        assert_eq!(
            error("[{\"size\": \"2\"}]"),
            "json: cannot unmarshal string into Go struct field PodsetSliceRequiredTopologyConstraint.size of type int32"
        );
        assert_eq!(
            error("[{\"size\": 2.5}]"),
            "json: cannot unmarshal number 2.5 into Go struct field PodsetSliceRequiredTopologyConstraint.size of type int32"
        );
    }

    #[test]
    fn layers_are_parsed() {
        let layers = parse_slice_topology_constraints(
            "[{\"topology\": \"t\", \"size\": 4, \"x\": 1}, null]",
        );
        let layer = |topology: &str, size| PodsetSliceRequiredTopologyConstraint {
            topology: topology.to_owned(),
            size,
        };
        assert_eq!(layers, Ok(vec![layer("t", 4), layer("", 0)]));
        assert_eq!(parse_slice_topology_constraints("null"), Ok(Vec::new()));
    }
}
