//! Merge of a configuration without field ownership, `ApplyStructuredMergeDiff` of
//! MutatingAdmissionPolicies.

use serde_json::Value;

use super::merge::merge;
use super::path_element;
use super::validate::{text, validate_object};
use crate::schema::{ListType, Schema, ValueType};

/// Why a configuration is not merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeConfigurationError {
    /// It does not match the schema; the messages of the validation.
    #[error("failed to convert patch object to typed object: {0}")]
    Invalid(String),
    /// It sets atomic lists, maps or structs; their paths.
    #[error("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}", .0.join(", "))]
    Atomic(Vec<String>),
}

/// Merges a configuration into an object. Fields that the configuration does not mention are kept.
///
/// # Errors
/// The configuration does not match the schema, or sets atomic lists, maps or structs.
pub fn merge_configuration(
    schema: &Schema,
    object: &Value,
    configuration: &Value,
) -> Result<Value, MergeConfigurationError> {
    let errors = validate_object(schema, configuration);
    if !errors.is_empty() {
        return Err(MergeConfigurationError::Invalid(text(&errors)));
    }
    let mut atomics = Vec::new();
    find_atomics(schema, configuration, String::new(), &mut atomics);
    if !atomics.is_empty() {
        return Err(MergeConfigurationError::Atomic(atomics));
    }
    Ok(merge(schema, Some(object), Some(configuration)).unwrap_or(Value::Null))
}

/// The paths of atomic lists, maps and structs in a configuration.
fn find_atomics(schema: &Schema, value: &Value, path: String, found: &mut Vec<String>) {
    match (&schema.value_type, value) {
        (ValueType::Struct(value_type), Value::Object(fields)) => {
            if value_type.atomic == Some(true) {
                found.push(path.clone());
            }
            for (name, value) in fields {
                if let Some(field) = value_type.field(name) {
                    let path = format!(
                        "{path}{}",
                        path_element::display(&path_element::field(name))
                    );
                    find_atomics(&field.schema, value, path, found);
                }
            }
        }
        (ValueType::Map(value_type), Value::Object(_)) if value_type.atomic == Some(true) => {
            found.push(path);
        }
        (ValueType::List(list), Value::Array(items)) => {
            if list.list_type == ListType::Atomic {
                found.push(path.clone());
            }
            for (i, item) in items.iter().enumerate() {
                find_atomics(&list.item, item, format!("{path}[{i}]"), found);
            }
        }
        _ => {}
    }
}
