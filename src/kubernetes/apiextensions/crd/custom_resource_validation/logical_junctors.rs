//! Validation of `allOf`, `anyOf`, `oneOf` and `not`.

use serde_json::Value;

use super::{ValidationError, ValidationResult, validate_value as validate};
use kueue_lab_apimachinery::schema::{Schema, ValueValidation};

pub(super) fn check(rules: &ValueValidation, value: &Value, path: &str) -> ValidationResult {
    let mut out = ValidationResult::default();
    any_of(&rules.any_of, value, path, &mut out);
    one_of(&rules.one_of, value, path, &mut out);
    all_of(&rules.all_of, value, path, &mut out);
    if let Some(not) = &rules.not
        && validate(not, value, None, path).is_valid()
    {
        out.add(ValidationError::without_path(format!(
            "{path:?} must not validate the schema (not)"
        )));
    }
    out.match_count += 1;
    out
}

/// Of failed alternatives, the one with the highest match count.
fn best_match(best: Option<ValidationResult>, next: ValidationResult) -> Option<ValidationResult> {
    match best {
        Some(best) if best.match_count >= next.match_count => Some(best),
        _ => Some(next),
    }
}

fn any_of(schemas: &[Schema], value: &Value, path: &str, out: &mut ValidationResult) {
    if schemas.is_empty() {
        return;
    }
    let mut best = None;
    for schema in schemas {
        let outcome = validate(schema, value, None, path);
        if outcome.is_valid() {
            return out.merge(outcome);
        }
        best = best_match(best, outcome);
    }
    out.add(ValidationError::without_path(format!(
        "{path:?} must validate at least one schema (anyOf)"
    )));
    out.merge(best.unwrap_or_default());
}

fn one_of(schemas: &[Schema], value: &Value, path: &str, out: &mut ValidationResult) {
    if schemas.is_empty() {
        return;
    }
    let (mut best, mut first, mut valid) = (None, None, 0);
    for schema in schemas {
        let outcome = validate(schema, value, None, path);
        if outcome.is_valid() {
            valid += 1;
            first = first.or(Some(outcome));
        } else if valid == 0 {
            best = best_match(best, outcome);
        }
    }
    if valid == 1 {
        return out.merge(first.unwrap_or_default());
    }
    let found = match valid {
        0 => "Found none valid".to_string(),
        n => format!("Found {n} valid alternatives"),
    };
    let text = format!("{path:?} must validate one and only one schema (oneOf). {found}");
    out.add(ValidationError::without_path(text));
    if valid == 0 {
        out.merge(best.unwrap_or_default());
    }
}

fn all_of(schemas: &[Schema], value: &Value, path: &str, out: &mut ValidationResult) {
    let mut valid = 0;
    for schema in schemas {
        let outcome = validate(schema, value, None, path);
        valid += usize::from(outcome.is_valid());
        out.merge(outcome);
    }
    if valid < schemas.len() {
        let none = if valid == 0 { ". None validated" } else { "" };
        out.add(ValidationError::without_path(format!(
            "{path:?} must validate all the schemas (allOf){none}"
        )));
    }
}
