//! Validation of the IntOrString pod counts in update strategies, such as `maxUnavailable`.

use serde_json::Value;

use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::strategy::table_cells::scalar;
use kueue_lab_field::name_validation;

/// Validates a non-negative integer or a percentage.
pub(super) fn int_or_percent(errors: &mut ErrorList, path: &FieldPath<'_>, value: &Value) {
    match value {
        Value::String(text) => errors.invalid_for_each(path, text, name_validation::percent(text)),
        Value::Number(n) if n.as_i64().is_some_and(|n| n < 0) => {
            errors.invalid(path, value.clone(), "must be greater than or equal to 0");
        }
        _ => {}
    }
}

/// Validates that a percentage does not exceed 100%.
pub(super) fn is_not_more_than_100_percent(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    value: &Value,
) {
    if percent(value).is_some_and(|n| n > 100) {
        errors.invalid(path, scalar(value), "must not be greater than 100%");
    }
}

/// Whether the value is 0 or `0%`.
pub(super) fn is_zero(value: &Value) -> bool {
    value.as_i64() == Some(0) || value.is_null() || percent(value) == Some(0)
}

fn percent(value: &Value) -> Option<u64> {
    value.as_str()?.strip_suffix('%')?.parse().ok()
}
