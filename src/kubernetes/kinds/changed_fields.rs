//! The fields in which two objects differ, for messages.

use serde_json::Value;

/// The paths of the fields in which two values differ, separated by commas.
pub(crate) fn changed_fields(path: &str, old: &Value, new: &Value) -> String {
    let mut paths = Vec::new();
    collect(path, old, new, &mut paths);
    paths.join(", ")
}

fn collect(path: &str, old: &Value, new: &Value, paths: &mut Vec<String>) {
    if old == new {
        return;
    }
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let added = new.keys().filter(|name| !old.contains_key(*name));
            for name in old.keys().chain(added) {
                let value = |object: &serde_json::Map<String, Value>| object.get(name).cloned();
                let (old, new) = (value(old), value(new));
                let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
                collect(&format!("{path}.{name}"), &old, &new, paths);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                collect(&format!("{path}[{index}]"), old, new, paths);
            }
        }
        _ => paths.push(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_lead_to_the_innermost_fields() {
        let old = json!({"a": 1, "list": [{"b": 1, "c": 2}], "same": {}});
        let new = json!({"list": [{"b": 2, "c": 2}], "same": {}, "more": []});
        assert_eq!(
            changed_fields("spec", &old, &new),
            "spec.a, spec.list[0].b, spec.more"
        );
        let longer = json!({"a": 1, "list": [], "same": {}});
        assert_eq!(changed_fields("spec", &old, &longer), "spec.list");
    }
}
