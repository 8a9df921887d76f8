//! The patches of MutatingAdmissionPolicies, `policy/mutating/patch`.

use serde_json::{Map, Value};

pub(super) use kueue_lab_apiextensions::cel::activation::EvaluationResult;
use kueue_lab_apiextensions::cel::object_types::{TypeNamesError, check_type_names};
use kueue_lab_apiextensions::cel::value::{ToJsonError, to_json};
use kueue_lab_apimachinery::fieldmanager::{MergeConfigurationError, merge_configuration};
use kueue_lab_apimachinery::schema::Schema;

/// Why the value of an expression does not patch an object.
#[derive(Debug, thiserror::Error)]
pub(super) enum PolicyPatchError {
    /// The value of a JSON patch is not a list.
    #[error("type mismatch: JSONPatchType.expression should evaluate to array")]
    NotAnArray,
    /// The value of an apply configuration is not an object.
    #[error("unsupported return type from ApplyConfiguration expression")]
    NotAnObject,
    /// The expression has type names that are not valid.
    #[error("type mismatch: {0}")]
    TypeNames(#[from] TypeNamesError),
    /// The value is not a JSON patch.
    #[error("JSON Patch: {0}")]
    ParsePatch(#[from] serde_json::Error),
    /// The JSON patch does not apply.
    #[error("JSON Patch: {0}")]
    ApplyPatch(#[from] json_patch::PatchError),
    /// The configuration does not apply.
    #[error("error applying patch: {0}")]
    Merge(#[from] MergeConfigurationError),
    /// The value has no JSON representation.
    #[error("JSONPath valueExpression evaluated to a type that could not marshal to JSON: {0}")]
    ToJson(#[from] ToJsonError),
}

/// Applies the JSON patch that an expression evaluated to. A patch of which a `test` fails is not
/// applied.
///
/// # Errors
/// The value is not a JSON patch, or it does not apply.
pub(super) fn apply_json_patch(
    expression: &str,
    patch: &EvaluationResult,
    mut object: Value,
) -> Result<Value, PolicyPatchError> {
    let operations = match json(patch)? {
        Value::Array(operations) => operations,
        _ => return Err(PolicyPatchError::NotAnArray),
    };
    check_type_names(expression)?;
    let operations = operations.into_iter().map(without_empty_from).collect();
    let patch: json_patch::Patch = serde_json::from_value(Value::Array(operations))?;
    let unchanged = object.clone();
    match json_patch::patch(&mut object, &patch) {
        Ok(()) => Ok(object),
        Err(e) if matches!(e.kind, json_patch::PatchErrorKind::TestFailed) => Ok(unchanged),
        Err(e) => Err(e.into()),
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
) -> Result<Value, PolicyPatchError> {
    let mut configuration = match json(configuration)? {
        Value::Object(fields) => Value::Object(fields),
        _ => return Err(PolicyPatchError::NotAnObject),
    };
    check_type_names(expression)?;
    if let Some(fields) = configuration.as_object_mut() {
        set_type_meta(fields, object);
    }
    Ok(merge_configuration(schema, object, &configuration)?)
}

fn set_type_meta(fields: &mut Map<String, Value>, object: &Value) {
    for field in ["apiVersion", "kind"] {
        if let Some(value) = object.get(field) {
            fields.insert(field.into(), value.clone());
        }
    }
}

fn json(value: &EvaluationResult) -> Result<Value, PolicyPatchError> {
    match value {
        EvaluationResult::Bool(value) => Ok((*value).into()),
        EvaluationResult::Text(text) => Ok(text.as_str().into()),
        EvaluationResult::Other(value) => Ok(to_json(value)?),
    }
}
