//! Schema validation of custom resources, with the error messages of the go-openapi validator that
//! apiextensions-apiserver uses.

mod go_regexp;
mod logical_junctors;
mod number;
mod string;
mod validation_result;

use std::collections::HashSet;

use serde_json::Value;

use super::list_type::CorrelatedItems;
pub(super) use go_regexp::compile_regexp;
use kueue_lab_apimachinery::schema::{Schema, ValueType, ValueValidation};
use kueue_lab_field::{FieldError, FieldErrorKind, json_type_name};
use validation_result::{ValidationError, ValidationResult};

/// Field errors of a value. `prefix` is its path in the object; `old` is the value before an
/// update, for ratcheting: errors of unchanged values are not reported.
pub(super) fn validate(
    schema: &Schema,
    value: &Value,
    old: Option<&Value>,
    prefix: &str,
) -> Vec<FieldError> {
    let outcome = validate_value(schema, value, old, "");
    outcome
        .errors
        .into_iter()
        .map(|f| f.into_error(prefix))
        .collect()
}

/// The JSON types a schema allows; empty for any type.
fn types(schema: &Schema) -> &'static [&'static str] {
    if schema.value_validation.as_ref().is_some_and(|r| r.untyped) {
        return &[];
    }
    match &schema.value_type {
        ValueType::Bool => &["boolean"],
        ValueType::Int(_) => &["integer"],
        ValueType::Float => &["number"],
        ValueType::String { .. } => &["string"],
        ValueType::IntOrString => &["integer", "string"],
        ValueType::List(_) => &["array"],
        ValueType::Map(_) | ValueType::Struct(_) => &["object"],
        _ => &[],
    }
}

fn validate_value(
    schema: &Schema,
    value: &Value,
    old: Option<&Value>,
    path: &str,
) -> ValidationResult {
    let mut out = ValidationResult::default();
    if !schema.name.is_empty() || old == Some(value) {
        return out; // metadata has its own validation; unchanged values are ratcheted
    }
    static NONE: std::sync::LazyLock<ValueValidation> =
        std::sync::LazyLock::new(ValueValidation::default);
    let rules = schema.value_validation.as_deref().unwrap_or(&NONE);
    let mut step = |outcome: ValidationResult| {
        out.merge(outcome);
        out.match_count += 1;
    };
    let types = types(schema);
    if !types.is_empty() || !rules.format.is_empty() {
        step(validate_type(schema, rules, types, value, path));
    }
    if value.is_null() {
        step(validate_enum(rules, value, path));
        return out;
    }
    step(logical_junctors::check(rules, value, path));
    match value {
        Value::String(text) => {
            step(string::check(rules, text, path));
            if !rules.format.is_empty() {
                step(string::format(rules, text, path));
            }
        }
        Value::Number(n) => step(number::check(schema, rules, n, path)),
        Value::Array(items) => step(array(schema, rules, items, old, path)),
        _ => {}
    }
    step(validate_enum(rules, value, path));
    if let Value::Object(_) = value {
        step(object(schema, rules, value, old, path));
    }
    out.match_count += 1;
    out
}

fn validate_type(
    schema: &Schema,
    rules: &ValueValidation,
    types: &[&str],
    value: &Value,
    path: &str,
) -> ValidationResult {
    let mut out = ValidationResult::default();
    out.match_count = 1;
    let wrong = |wanted: &str, found: &str| {
        ValidationResult::of(ValidationError::of(
            FieldErrorKind::TypeInvalid,
            path,
            Some(found.into()),
            format!("{path} in body must be of type {wanted}: {found:?}"),
        ))
    };
    let found = json_type_name(value);
    if value.is_null() {
        if !types.is_empty() && !schema.nullable {
            return wrong(&types.join(","), found);
        }
        return out;
    }
    let whole = value.as_f64().is_some_and(|f| f.fract() == 0.0);
    let fits = types.contains(&found)
        || found == "number" && whole && types.contains(&"integer")
        || found == "integer" && types.contains(&"number");
    let texts = value.is_string() || value.is_array();
    if !texts && !rules.format.is_empty() && !fits {
        let found = match found {
            "number" => "float64",
            "integer" => "int64",
            _ => "",
        };
        return wrong(&rules.format, found);
    }
    let numeric = types.contains(&"number") || types.contains(&"integer");
    if !numeric && !rules.format.is_empty() && texts {
        return out;
    }
    if !fits {
        return wrong(&types.join(","), found);
    }
    out.match_count = 1;
    out
}

fn validate_enum(rules: &ValueValidation, value: &Value, path: &str) -> ValidationResult {
    let mut out = ValidationResult::default();
    let equal = |allowed: &Value| {
        allowed == value || allowed.as_f64().is_some_and(|a| value.as_f64() == Some(a))
    };
    if !rules.enumeration.is_empty() && !rules.enumeration.iter().any(equal) {
        let shown: Vec<String> = rules
            .enumeration
            .iter()
            .map(|v| match v {
                Value::String(s) => format!("{s:?}"),
                other => format!("{:?}", other.to_string()),
            })
            .collect();
        let detail = format!("supported values: {}", shown.join(", "));
        out.add(ValidationError::of(
            FieldErrorKind::NotSupported,
            path,
            Some(value.clone()),
            detail,
        ));
    }
    out
}

fn array(
    schema: &Schema,
    rules: &ValueValidation,
    items: &[Value],
    old: Option<&Value>,
    path: &str,
) -> ValidationResult {
    let mut out = ValidationResult::default();
    if let ValueType::List(list) = &schema.value_type {
        let before = CorrelatedItems::of(list, old);
        for (i, item) in items.iter().enumerate() {
            out.merge(validate_value(
                &list.item,
                item,
                before.get(item),
                &format!("{path}[{i}]"),
            ));
        }
    }
    let size = items.len();
    let count = u64::try_from(size).unwrap_or(u64::MAX);
    if let Some(least) = rules.items.0.filter(|least| count < *least) {
        let detail = format!("{path} in body should have at least {least} items");
        out.add(ValidationError::invalid(path, size, detail));
    }
    if let Some(most) = rules.items.1.filter(|most| count > *most) {
        out.add(too_many(path, size, most));
    }
    if rules.unique_items && items.iter().collect::<HashSet<_>>().len() < size {
        let detail = format!("{path} in body shouldn't contain duplicates");
        out.add(ValidationError::invalid(path, "", detail));
    }
    out.match_count += 1;
    out
}

fn too_many(path: &str, actual: usize, most: u64) -> ValidationError {
    let unit = if most == 1 { "item" } else { "items" };
    let detail = format!("must have at most {most} {unit}");
    ValidationError::of(FieldErrorKind::TooMany, path, Some(actual.into()), detail)
}

fn object(
    schema: &Schema,
    rules: &ValueValidation,
    value: &Value,
    old: Option<&Value>,
    path: &str,
) -> ValidationResult {
    let mut out = ValidationResult::default();
    let Some(map) = value.as_object() else {
        return out;
    };
    let size = map.len();
    let count = u64::try_from(size).unwrap_or(u64::MAX);
    if let Some(least) = rules.properties.0.filter(|least| count < *least) {
        let detail = format!("{path} in body should have at least {least} properties");
        out.add(ValidationError::invalid(path, size, detail));
    }
    if let Some(most) = rules.properties.1.filter(|most| count > *most) {
        out.add(too_many(path, size, most));
    }
    let below = |name: &str| {
        if path.is_empty() {
            name.into()
        } else {
            format!("{path}.{name}")
        }
    };
    for (name, value) in map {
        let before = old.and_then(|o| o.get(name));
        match (&schema.value_type, &rules.metadata) {
            (ValueType::Struct(_), Some(metadata)) if name == "metadata" => {
                out.merge(validate_value(metadata, value, before, &below(name)));
            }
            (ValueType::Struct(value_type), _) => {
                if let Some(field) = value_type.field(name) {
                    out.merge(validate_value(&field.schema, value, before, &below(name)));
                }
            }
            (ValueType::Map(value_type), _) => {
                out.merge(validate_value(
                    &value_type.value,
                    value,
                    before,
                    &format!("{path}.{name}"),
                ));
            }
            _ => {}
        }
    }
    for name in rules
        .required
        .iter()
        .filter(|name| !map.contains_key(&***name))
    {
        let name = format!("{path}.{name}");
        out.add(ValidationError::of(
            FieldErrorKind::Required,
            &name,
            None,
            String::new(),
        ));
    }
    out
}
