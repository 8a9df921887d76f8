//! The paths of the scale subresource.

use serde_json::{Map, Value};

use crate::schema::go_format::go_text;
use kueue_lab_field::FieldError;

/// JSONPaths of the fields of `autoscaling/v1` Scale in a custom resource
/// (`CustomResourceSubresourceScale`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScalePaths {
    /// `specReplicasPath`, such as `.spec.replicas`.
    pub spec_replicas: String,
    /// `statusReplicasPath`, such as `.status.replicas`.
    pub status_replicas: String,
    /// `labelSelectorPath`, a string field; empty if unset.
    pub label_selector: String,
}

impl ScalePaths {
    /// The value at a path.
    pub fn get<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
        fields(path).try_fold(object, |value, name| value.get(name))
    }

    /// Sets a value at a path and creates missing parent objects.
    pub fn set(object: &mut Value, path: &str, value: Value) {
        let mut at = object;
        for name in fields(path) {
            if !at.is_object() {
                *at = Value::Object(Map::new());
            }
            at = &mut at[name];
        }
        *at = value;
    }

    /// Field errors of the replica fields; with `status_only` only those below `status`.
    pub fn validate(&self, object: &Value, status_only: bool) -> Vec<FieldError> {
        let mut out = Vec::new();
        if !status_only {
            number(object, &self.spec_replicas, &mut out);
        }
        number(object, &self.status_replicas, &mut out);
        if !self.label_selector.is_empty() {
            let text = nested_field(object, &self.label_selector, "string", Value::is_string);
            if let Err(why) = text {
                out.push(FieldError::invalid(&*self.label_selector, "", why));
            }
        }
        out
    }
}

/// The names of the fields of a path.
pub fn fields(path: &str) -> impl Iterator<Item = &str> {
    path.trim_start_matches('.').split('.')
}

fn number(object: &Value, path: &str, out: &mut Vec<FieldError>) {
    let whole = |v: &Value| v.is_i64() || v.is_u64();
    let detail = match nested_field(object, path, "int64", whole) {
        Err(why) => return out.push(FieldError::invalid(path, 0, why)),
        Ok(None) => return,
        Ok(Some(value)) => match value.as_i64() {
            Some(n) if n < 0 => (n, "should be a non-negative integer".to_string()),
            Some(n) if n > i64::from(i32::MAX) => {
                (n, format!("should be less than or equal to {}", i32::MAX))
            }
            _ => return,
        },
    };
    out.push(FieldError::invalid(path, detail.0, detail.1));
}

/// The value at a path if it has the expected type.
fn nested_field<'v>(
    object: &'v Value,
    path: &str,
    wanted: &str,
    fits: impl Fn(&Value) -> bool,
) -> Result<Option<&'v Value>, String> {
    let mut at = object;
    let mut so_far = String::new();
    let wrong = |so_far: &str, value: &Value, wanted: &str| {
        let found = match value {
            Value::Bool(_) => "bool",
            Value::Number(n) if n.is_f64() => "float64",
            Value::Number(_) => "int64",
            Value::String(_) => "string",
            Value::Array(_) => "[]interface {}",
            _ => "map[string]interface {}",
        };
        Err(format!(
            "{so_far} accessor error: {} is of the type {found}, expected {wanted}",
            go_text(value)
        ))
    };
    for name in fields(path) {
        if at.is_null() {
            return Ok(None);
        }
        so_far.extend([".", name]);
        let Value::Object(map) = at else {
            return wrong(&so_far, at, "map[string]interface{}");
        };
        match map.get(name) {
            Some(value) => at = value,
            None => return Ok(None),
        }
    }
    if fits(at) {
        Ok(Some(at))
    } else {
        wrong(&so_far, at, wanted)
    }
}
