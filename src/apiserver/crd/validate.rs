//! Whether a custom resource satisfies the value validations of its schema, in the words of
//! go-openapi, whose validator the real server runs.

mod combine;
mod number;
mod outcome;
mod pattern;
mod string;

use serde_json::Value;

use super::lists::Correlated;
use crate::field::{FieldError, FieldErrorKind};
use crate::schema::encode::go_float;
use crate::schema::{Rules, Schema, Shape};
use outcome::{Fault, Outcome};
pub(super) use pattern::compiled;

/// What is wrong with a value. `prefix` is where the value stands in the object; `old` is the value
/// it replaces, whose own faults are not held against it where it has not changed.
pub(super) fn faults(
    schema: &Schema,
    value: &Value,
    old: Option<&Value>,
    prefix: &str,
) -> Vec<FieldError> {
    let outcome = check(schema, value, old, "");
    outcome
        .faults
        .into_iter()
        .map(|f| f.into_error(prefix))
        .collect()
}

/// The JSON type of a value, as the validator names it.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The types a schema allows; none means any.
fn types(schema: &Schema) -> &'static [&'static str] {
    if schema.rules.as_ref().is_some_and(|r| r.untyped) {
        return &[];
    }
    match &schema.shape {
        Shape::Bool => &["boolean"],
        Shape::Int(_) => &["integer"],
        Shape::Float => &["number"],
        Shape::String { .. } => &["string"],
        Shape::IntOrString => &["integer", "string"],
        Shape::List(_) => &["array"],
        Shape::Map(_) | Shape::Struct(_) => &["object"],
        _ => &[],
    }
}

fn check(schema: &Schema, value: &Value, old: Option<&Value>, path: &str) -> Outcome {
    let mut out = Outcome::default();
    if !schema.name.is_empty() || old == Some(value) {
        return out; // metadata is checked elsewhere; what has not changed is left alone
    }
    static NONE: std::sync::LazyLock<Rules> = std::sync::LazyLock::new(Rules::default);
    let rules = schema.rules.as_deref().unwrap_or(&NONE);
    let mut step = |outcome: Outcome| {
        out.merge(outcome);
        out.matches += 1;
    };
    let types = types(schema);
    if !types.is_empty() || !rules.format.is_empty() {
        step(typed(schema, rules, types, value, path));
    }
    if value.is_null() {
        step(enumerated(rules, value, path));
        return out;
    }
    step(combine::check(rules, value, path));
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
    step(enumerated(rules, value, path));
    if let Value::Object(_) = value {
        step(object(schema, rules, value, old, path));
    }
    out.matches += 1;
    out
}

fn typed(schema: &Schema, rules: &Rules, types: &[&str], value: &Value, path: &str) -> Outcome {
    let mut out = Outcome {
        faults: Vec::new(),
        matches: 1,
    };
    let wrong = |wanted: &str, found: &str| Outcome {
        matches: 0,
        faults: vec![Fault::of(
            FieldErrorKind::TypeInvalid,
            path,
            Some(found.into()),
            format!("{path} in body must be of type {wanted}: {found:?}"),
        )],
    };
    let found = type_of(value);
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
    out.matches = 1;
    out
}

fn enumerated(rules: &Rules, value: &Value, path: &str) -> Outcome {
    let mut out = Outcome::default();
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
        out.add(Fault::of(
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
    rules: &Rules,
    items: &[Value],
    old: Option<&Value>,
    path: &str,
) -> Outcome {
    let mut out = Outcome::default();
    if let Shape::List(list) = &schema.shape {
        let before = Correlated::of(list, old);
        for (i, item) in items.iter().enumerate() {
            out.merge(check(
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
        out.add(Fault::invalid(path, size, detail));
    }
    if let Some(most) = rules.items.1.filter(|most| count > *most) {
        out.add(too_many(path, size, most));
    }
    if rules.unique_items && (1..size).any(|i| items[..i].contains(&items[i])) {
        let detail = format!("{path} in body shouldn't contain duplicates");
        out.add(Fault::invalid(path, "", detail));
    }
    out.matches += 1;
    out
}

fn too_many(path: &str, actual: usize, most: u64) -> Fault {
    let unit = if most == 1 { "item" } else { "items" };
    let detail = format!("must have at most {most} {unit}");
    Fault::of(FieldErrorKind::TooMany, path, Some(actual.into()), detail)
}

fn object(
    schema: &Schema,
    rules: &Rules,
    value: &Value,
    old: Option<&Value>,
    path: &str,
) -> Outcome {
    let mut out = Outcome::default();
    let Some(map) = value.as_object() else {
        return out;
    };
    let size = map.len();
    let count = u64::try_from(size).unwrap_or(u64::MAX);
    if let Some(least) = rules.properties.0.filter(|least| count < *least) {
        let detail = format!("{path} in body should have at least {least} properties");
        out.add(Fault::invalid(path, size, detail));
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
        match (&schema.shape, &rules.metadata) {
            (Shape::Struct(_), Some(metadata)) if name == "metadata" => {
                out.merge(check(metadata, value, before, &below(name)));
            }
            (Shape::Struct(shape), _) => {
                if let Some(field) = shape.field(name) {
                    out.merge(check(&field.schema, value, before, &below(name)));
                }
            }
            (Shape::Map(shape), _) => {
                out.merge(check(
                    &shape.value,
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
        out.add(Fault::of(
            FieldErrorKind::Required,
            &name,
            None,
            String::new(),
        ));
    }
    out
}

/// A number as Go's `%v` prints it.
fn shown(n: f64) -> String {
    go_float(n)
}
