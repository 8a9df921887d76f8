//! Equality as Kubernetes means it: `1000m` is `1`, an empty list or map is none.

use serde::Serialize;
use serde_json::{Map, Value};

use kueue_lab_quantity::Quantity;

/// Maps from resource to quantity.
const AMOUNTS: [&str; 6] = [
    "requests",
    "limits",
    "overhead",
    "resourceUsage",
    "capacity",
    "resources",
];
/// Other fields that are quantities.
const AMOUNT: [&str; 2] = ["divisor", "sizeLimit"];
/// Maps whose being empty means nothing.
const MAPS: [&str; 6] = [
    "labels",
    "annotations",
    "nodeSelector",
    "matchLabels",
    "flavors",
    "nodeLabels",
];

/// Whether two values mean the same.
pub fn equal<T: PartialEq + Serialize>(a: &T, b: &T) -> bool {
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
                .for_each(|(name, member)| member_of(name, member));
            map.retain(|name, member| !is_nothing(name, member));
        }
        _ => {}
    }
}

fn member_of(name: &str, member: &mut Value) {
    match member {
        Value::String(text) if AMOUNT.contains(&name) => canonical(text),
        Value::Object(amounts) if AMOUNTS.contains(&name) && all_quantities(amounts) => {
            amounts.values_mut().for_each(|v| {
                if let Value::String(text) = v {
                    canonical(text);
                }
            });
        }
        other => normalise(other),
    }
}

fn all_quantities(map: &Map<String, Value>) -> bool {
    map.values()
        .all(|v| v.as_str().is_some_and(|t| Quantity::parse(t).is_ok()))
}

fn canonical(text: &mut String) {
    if let Ok(quantity) = Quantity::parse(text) {
        // The value alone, however it was written.
        *text = quantity
            .with_format(kueue_lab_quantity::Format::DecimalExponent)
            .to_string();
    }
}

fn is_nothing(name: &str, member: &Value) -> bool {
    match member {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty() && (MAPS.contains(&name) || AMOUNTS.contains(&name)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn spelling_does_not_matter_but_meaning_does() {
        let pod = |cpu: &str, labels: Value| {
            json!({
                "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}, "args": []}],
                "nodeSelector": {}, "labels": labels,
            })
        };
        let plain = json!({
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
        });
        assert!(equal(&pod("1000m", json!({})), &plain));
        assert!(!equal(&pod("1001m", json!({})), &plain));
        assert!(!equal(&pod("1", json!({"a": "b"})), &plain));
        // An empty object is not nothing where it says something by being there.
        assert!(!equal(&json!({"emptyDir": {}}), &json!({})));
    }
}
