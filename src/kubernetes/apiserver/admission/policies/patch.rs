//! The patches of MutatingAdmissionPolicies, `policy/mutating/patch`.

use serde_json::{Map, Value};

pub(super) use kueue_lab_apiextensions::cel::activation::EvaluationResult;
use kueue_lab_apiextensions::cel::object_types::check_type_names;
use kueue_lab_apiextensions::cel::value::to_json;
use kueue_lab_apimachinery::fieldmanager::merge_configuration;
use kueue_lab_apimachinery::schema::Schema;

/// Applies the JSON patch that an expression evaluated to. A patch of which a `test` fails is not
/// applied.
///
/// # Errors
/// The value is not a JSON patch, or it does not apply.
pub(super) fn apply_json_patch(
    expression: &str,
    patch: &EvaluationResult,
    mut object: Value,
) -> Result<Value, String> {
    let operations = match json(patch)? {
        Value::Array(operations) => operations,
        _ => {
            return Err("type mismatch: JSONPatchType.expression should evaluate to array".into());
        }
    };
    check_type_names(expression).map_err(|reason| format!("type mismatch: {reason}"))?;
    let operations = operations.into_iter().map(without_empty_from).collect();
    let patch: json_patch::Patch =
        serde_json::from_value(Value::Array(operations)).map_err(|e| format!("JSON Patch: {e}"))?;
    let unchanged = object.clone();
    match json_patch::patch(&mut object, &patch) {
        Ok(()) => Ok(object),
        Err(e) if matches!(e.kind, json_patch::PatchErrorKind::TestFailed) => Ok(unchanged),
        Err(e) => Err(format!("JSON Patch: {e}")),
    }
}

/// An operation without a `from` that is empty, as Go omits it.
fn without_empty_from(mut operation: Value) -> Value {
    if operation["from"] == ""
        && let Some(fields) = operation.as_object_mut()
    {
        fields.remove("from");
    }
    operation
}

/// Merges the apply configuration that an expression evaluated to, without field ownership.
///
/// # Errors
/// The value is not a configuration of the object.
pub(super) fn apply_configuration(
    expression: &str,
    configuration: &EvaluationResult,
    schema: &Schema,
    object: &Value,
) -> Result<Value, String> {
    let mut configuration = match json(configuration)? {
        Value::Object(fields) => Value::Object(fields),
        _ => return Err("unsupported return type from ApplyConfiguration expression".into()),
    };
    check_type_names(expression).map_err(|reason| format!("type mismatch: {reason}"))?;
    if let Some(fields) = configuration.as_object_mut() {
        set_type_meta(fields, object);
    }
    merge_configuration(schema, object, &configuration)
        .map_err(|reason| format!("error applying patch: {reason}"))
}

fn set_type_meta(fields: &mut Map<String, Value>, object: &Value) {
    for field in ["apiVersion", "kind"] {
        if let Some(value) = object.get(field) {
            fields.insert(field.into(), value.clone());
        }
    }
}

fn json(value: &EvaluationResult) -> Result<Value, String> {
    match value {
        EvaluationResult::Bool(value) => Ok((*value).into()),
        EvaluationResult::Text(text) => Ok(text.as_str().into()),
        EvaluationResult::Other(value) => to_json(value).map_err(|reason| {
            format!(
                "JSONPath valueExpression evaluated to a type that could not marshal to JSON: {reason}"
            )
        }),
    }
}
