//! Kubernetes' semantic equality: `1000m` equals `1`, an empty list or map equals an absent one.

use serde::Serialize;
use serde_json::{Map, Value};

use kueue_lab_quantity::Quantity;

/// Maps from resource to quantity.
const RESOURCE_LISTS: [&str; 6] = [
    "requests",
    "limits",
    "overhead",
    "resourceUsage",
    "capacity",
    "resources",
];
/// Other fields that are quantities.
const QUANTITY_FIELDS: [&str; 2] = ["divisor", "sizeLimit"];
/// Maps that are equal to absent ones if they are empty.
const OPTIONAL_MAPS: [&str; 6] = [
    "labels",
    "annotations",
    "nodeSelector",
    "matchLabels",
    "flavors",
    "nodeLabels",
];

/// Structs that are not pointers: an empty one is equal to an absent one.
const STRUCTS: [&str; 1] = ["metadata"];

/// Whether two values are semantically equal.
pub fn deep_equal<T: PartialEq + Serialize>(a: &T, b: &T) -> bool {
    a == b
        || match (serde_json::to_value(a), serde_json::to_value(b)) {
            (Ok(mut a), Ok(mut b)) => {
                normalise(&mut a);
                normalise(&mut b);
                a == b
            }
            _ => false,
        }
}

fn normalise(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(normalise),
        Value::Object(map) => {
            map.iter_mut()
                .for_each(|(name, member)| normalise_member(name, member));
            map.retain(|name, member| !is_empty_value(name, member));
        }
        _ => {}
    }
}

fn normalise_member(name: &str, member: &mut Value) {
    match member {
        Value::String(text) if QUANTITY_FIELDS.contains(&name) => canonicalize_quantity(text),
        Value::Object(amounts) if RESOURCE_LISTS.contains(&name) && is_resource_list(amounts) => {
            amounts.values_mut().for_each(|v| {
                if let Value::String(text) = v {
                    canonicalize_quantity(text);
                }
            });
        }
        other => normalise(other),
    }
}

fn is_resource_list(map: &Map<String, Value>) -> bool {
    map.values()
        .all(|v| v.as_str().is_some_and(|t| Quantity::parse(t).is_ok()))
}

fn canonicalize_quantity(text: &mut String) {
    if let Ok(quantity) = Quantity::parse(text) {
        // The canonical form of the value.
        *text = quantity
            .with_format(kueue_lab_quantity::Format::DecimalExponent)
            .to_string();
    }
}

fn is_empty_value(name: &str, member: &Value) -> bool {
    match member {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => {
            let named = |names: &[&str]| names.contains(&name);
            map.is_empty() && (named(&OPTIONAL_MAPS) || named(&RESOURCE_LISTS) || named(&STRUCTS))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quantities_and_empty_values_are_compared_semantically() {
        let pod = |cpu: &str, labels: Value| {
            json!({
                "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}, "args": []}],
                "nodeSelector": {}, "labels": labels,
            })
        };
        let plain = json!({
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
        });
        assert!(deep_equal(&pod("1000m", json!({})), &plain));
        assert!(!deep_equal(&pod("1001m", json!({})), &plain));
        assert!(!deep_equal(&pod("1", json!({"a": "b"})), &plain));
        let template = |metadata: Value| json!({"template": {"metadata": metadata, "spec": {}}});
        let without = json!({"template": {"spec": {}}});
        assert!(deep_equal(&template(json!({"labels": {}})), &without));
        assert!(!deep_equal(
            &template(json!({"labels": {"a": "b"}})),
            &without
        ));
        // The presence of some empty objects is significant.
        assert!(!deep_equal(&json!({"emptyDir": {}}), &json!({})));
    }
}
