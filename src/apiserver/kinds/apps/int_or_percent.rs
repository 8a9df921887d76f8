//! Numbers of pods given as a number or a percentage, in the update strategies.

use serde_json::Value;

use crate::apimachinery::error_list::ErrorList;
use crate::apimachinery::field_path::FieldPath;
use crate::apimachinery::metadata_validation::name_validation;
use crate::printers::cells::scalar;

/// A number of pods: not negative, or a percentage.
pub fn int_or_percent(errors: &mut ErrorList, path: &FieldPath<'_>, value: &Value) {
    match value {
        Value::String(text) => errors.invalid_for_each(path, text, name_validation::percent(text)),
        Value::Number(n) if n.as_i64().is_some_and(|n| n < 0) => {
            errors.invalid(path, value.clone(), "must be greater than or equal to 0");
        }
        _ => {}
    }
}

/// A percentage of no more than all.
pub fn is_not_more_than_100_percent(errors: &mut ErrorList, path: &FieldPath<'_>, value: &Value) {
    if percent(value).is_some_and(|n| n > 100) {
        errors.invalid(path, scalar(value), "must not be greater than 100%");
    }
}

/// Whether it is nothing, as a number or a percentage.
pub fn is_zero(value: &Value) -> bool {
    value.as_i64() == Some(0) || value.is_null() || percent(value) == Some(0)
}

fn percent(value: &Value) -> Option<u64> {
    value.as_str()?.strip_suffix('%')?.parse().ok()
}
