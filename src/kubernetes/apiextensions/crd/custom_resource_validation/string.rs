//! Validation of strings: length, pattern and format.

use super::compile_regexp;
use super::validation_result::{ValidationError, ValidationResult};
use crate::crd::formats;
use kueue_lab_apimachinery::schema::ValueValidation;
use kueue_lab_field::FieldErrorKind;

/// Validates `minLength`, `maxLength` and `pattern`.
pub(super) fn check(rules: &ValueValidation, text: &str, path: &str) -> ValidationResult {
    let error = ValidationResult::of;
    let length = || u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    if let Some(most) = rules.length.1.filter(|most| length() > *most) {
        let unit = if most == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {most} {unit}");
        return error(ValidationError::of(
            FieldErrorKind::TooLong,
            path,
            None,
            detail,
        ));
    }
    if let Some(least) = rules.length.0.filter(|least| length() < *least) {
        let detail = format!("{path} in body should be at least {least} chars long");
        return error(ValidationError::invalid(path, text, detail));
    }
    if !rules.pattern.is_empty() {
        match compile_regexp(&rules.pattern) {
            Ok(re) if re.is_match(text) => {}
            Ok(_) => {
                let detail = format!("{path} in body should match '{}'", rules.pattern);
                return error(ValidationError::invalid(path, text, detail));
            }
            Err(reason) => {
                let detail = format!(
                    "{path} in body should match '{}, but pattern is invalid: {reason}'",
                    rules.pattern
                );
                return error(ValidationError::invalid(path, text, detail));
            }
        }
    }
    ValidationResult::default()
}

/// Validates `format`.
pub(super) fn format(rules: &ValueValidation, text: &str, path: &str) -> ValidationResult {
    let mut out = ValidationResult::default();
    if matches!(
        rules.format.as_str(),
        "int32" | "int64" | "float" | "double"
    ) {
        return out;
    }
    if !formats::matches(&rules.format, text) {
        let detail = format!("{path} in body must be of type {}: {text:?}", rules.format);
        out.add(ValidationError::of(
            FieldErrorKind::TypeInvalid,
            path,
            Some(text.into()),
            detail,
        ));
    }
    out
}
