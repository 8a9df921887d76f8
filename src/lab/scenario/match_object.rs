//! Compares an object with the conditions and fields of an expectation.

use serde_json::Value;

use super::expect::ExpectedObject;
use super::glob::glob_matches;
use kueue_lab_json::ValueExt;

/// The first condition or field of an object that does not match, if any.
pub(super) fn mismatch(object: &Value, expected: &ExpectedObject) -> Option<String> {
    for (name, wanted) in &expected.conditions {
        let Some(found) = object.condition(name) else {
            if wanted.status.as_deref() == Some("absent") {
                continue;
            }
            return Some(format!("there is no condition {name}"));
        };
        let text = |field: &str| found[field].as_str().unwrap_or_default();
        let matches = |pattern: &Option<String>, field: &str| {
            pattern
                .as_ref()
                .is_none_or(|p| glob_matches(p, text(field)))
        };
        if !(matches(&wanted.status, "status")
            && matches(&wanted.reason, "reason")
            && matches(&wanted.message, "message"))
        {
            let (status, reason, message) = (text("status"), text("reason"), text("message"));
            return Some(format!("{name}={status}/{reason} {message:?}"));
        }
    }
    for (path, wanted) in &expected.fields {
        let found = field(object, path);
        let matches = match (found, wanted) {
            (None | Some(Value::Null), Value::Null) => true,
            (None, _) => false,
            (Some(Value::String(text)), Value::String(pattern)) => glob_matches(pattern, text),
            (Some(found), wanted) => found == wanted || scalar_text(found) == scalar_text(wanted),
        };
        if !matches {
            let shown = found.map_or("absent".to_owned(), Value::to_string);
            return Some(format!("{path} is {shown}"));
        }
    }
    None
}

/// The conditions and fields of an object that an expectation names, with their values.
pub(super) fn values_text(object: &Value, expected: &ExpectedObject) -> String {
    let of_conditions = expected.conditions.keys().map(|name| {
        let found = object.condition(name);
        let text = |field: &str| found.and_then(|c| c[field].as_str());
        match (text("status"), text("reason")) {
            (Some(status), Some(reason)) => format!("{name}={status}/{reason}"),
            (Some(status), None) => format!("{name}={status}"),
            (None, _) => format!("no condition {name}"),
        }
    });
    let of_fields = expected.fields.keys().map(|path| {
        let value = field(object, path).map_or("absent".to_owned(), Value::to_string);
        format!("{path}={value}")
    });
    let values: Vec<String> = of_conditions.chain(of_fields).collect();
    values.join(", ")
}

/// A scalar as text, so that `3` and `"3"` in a scenario are equal.
fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(s) => Some(s.clone()),
        Value::Number(n) => Some(n.to_string()),
        Value::Bool(b) => Some(b.to_string()),
        _ => None,
    }
}

/// The field at a path such as `status.admission.podSetAssignments[0].flavors.cpu` or
/// `metadata.labels[kueue.x-k8s.io/queue-name]`.
fn field<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    let mut value = object;
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (index, left) = inside.split_once(']')?;
            value = match value {
                Value::Array(items) => items.get(index.parse::<usize>().ok()?)?,
                _ => value.get(index)?,
            };
            rest = left.strip_prefix('.').unwrap_or(left);
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            value = value.get(&rest[..end])?;
            rest = rest[end..].strip_prefix('.').unwrap_or(&rest[end..]);
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use std::collections::BTreeMap;

    use super::*;
    use crate::expect::ExpectedCondition;
    use crate::selector::Selector;

    #[test]
    fn fields_are_found_by_path() {
        let object = json!({"metadata": {"labels": {"a.b/c": "x"}}, "spec": {"l": [{"n": 1}]}});
        assert_eq!(field(&object, "spec.l[0].n"), Some(&json!(1)));
        assert_eq!(field(&object, "metadata.labels[a.b/c]"), Some(&json!("x")));
        assert_eq!(field(&object, "spec.l[1].n"), None);
    }

    #[test]
    fn a_mismatch_describes_the_observed_value() {
        let object = json!({"status": {"n": 3, "conditions": [
            {"type": "Admitted", "status": "False", "reason": "NoReservation", "message": "no"}]}});
        let expected = |conditions: &[(&str, &str)], fields: &[(&str, Value)]| ExpectedObject {
            object: Selector {
                api_version: "v1".into(),
                kind: "Pod".into(),
                namespace: None,
                name: None,
                labels: BTreeMap::new(),
            },
            conditions: conditions
                .iter()
                .map(|(name, status)| {
                    let status = Some((*status).to_owned());
                    (
                        (*name).to_owned(),
                        ExpectedCondition {
                            status,
                            ..ExpectedCondition::default()
                        },
                    )
                })
                .collect(),
            fields: fields
                .iter()
                .map(|(p, v)| ((*p).to_owned(), v.clone()))
                .collect(),
            count: None,
            newer_than: None,
        };
        let result = |expected: &ExpectedObject| mismatch(&object, expected);
        assert_eq!(result(&expected(&[("Admitted", "False")], &[])), None);
        assert_eq!(
            result(&expected(&[("Admitted", "True")], &[])).as_deref(),
            Some("Admitted=False/NoReservation \"no\"")
        );
        assert_eq!(result(&expected(&[], &[("status.n", json!("3"))])), None);
        assert_eq!(
            result(&expected(&[], &[("status.n", json!(4))])).as_deref(),
            Some("status.n is 3")
        );
    }
}
