//! Quantities that are equal in another spelling: `"8"` and `8`, `1000m` and `1`, `1Gi` and `1024Mi`.
//!
//! Kueue's webhooks write quantities in their canonical form, and the types of other kinds as well. Server-side apply
//! compares the texts: a file with another spelling would conflict with the owner of the field, or change it.

use kueue_lab_quantity::Quantity;
use serde_json::{Map, Value};

/// Fields that are quantities.
const QUANTITIES: [&str; 5] = [
    "nominalQuota",
    "borrowingLimit",
    "lendingLimit",
    "divisor",
    "sizeLimit",
];
/// Fields whose values are quantities by name.
const QUANTITY_MAPS: [&str; 12] = [
    "requests",
    "limits",
    "overhead",
    "hard",
    "capacity",
    "allocatable",
    "resources",
    "max",
    "min",
    "default",
    "defaultRequest",
    "maxLimitRequestRatio",
];
/// The struct whose field `weight` is a quantity; other weights are integers.
const FAIR_SHARING: &str = "fairSharing";

/// The object with the quantities of `live` in the places where both are equal in another spelling.
pub fn keep_quantity_spelling(object: &Value, live: &Value) -> Value {
    let mut object = object.clone();
    keep("", &mut object, live);
    object
}

/// Whether two objects are equal except for the spelling of quantities.
pub(super) fn equal_except_spelling(a: &Value, b: &Value) -> bool {
    a == b || keep_quantity_spelling(a, b) == *b
}

/// `name` is the field that holds the values; items of a list have that of the list.
fn keep(name: &str, value: &mut Value, live: &Value) {
    match (value, live) {
        (Value::Object(fields), Value::Object(live)) => {
            let is_map = QUANTITY_MAPS.contains(&name) && is_quantity_map(fields);
            for (field, value) in fields {
                let Some(live) = live.get(field) else {
                    continue;
                };
                let is_quantity = is_map
                    || QUANTITIES.contains(&field.as_str())
                    || (name == FAIR_SHARING && field == "weight");
                match is_quantity && is_equal_quantity(value, live) {
                    true => value.clone_from(live),
                    false => keep(field, value, live),
                }
            }
        }
        (Value::Array(items), Value::Array(live)) => {
            for (index, item) in items.iter_mut().enumerate() {
                let same = match item.get("name").filter(|name| name.is_string()) {
                    Some(wanted) => live.iter().find(|item| item.get("name") == Some(wanted)),
                    None => live.get(index),
                };
                if let Some(same) = same {
                    keep(name, item, same);
                }
            }
        }
        _ => {}
    }
}

/// Whether all values of a map are quantities.
fn is_quantity_map(map: &Map<String, Value>) -> bool {
    map.values().all(|value| quantity(value).is_some())
}

fn is_equal_quantity(a: &Value, b: &Value) -> bool {
    quantity(a).zip(quantity(b)).is_some_and(|(a, b)| a == b)
}

/// The quantity of a number or a text.
fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_quantities_have_the_spelling_of_the_cluster() {
        let queue = |cpu: Value, memory: &str, weight: Value| {
            json!({"spec": {"fairSharing": {"weight": weight}, "resourceGroups": [{"flavors": [
                {"name": "plain", "resources": [
                    {"name": "cpu", "nominalQuota": cpu, "borrowingLimit": "1000m"},
                    {"name": "memory", "nominalQuota": memory}]}]}]}})
        };
        let file = queue(json!(8), "1024Mi", json!(0.5));
        let live = json!({"spec": {"fairSharing": {"weight": "500m"}, "stopPolicy": "None",
            "resourceGroups": [{"flavors": [{"name": "plain", "resources": [
                // Another order.
                {"name": "memory", "nominalQuota": "1Gi"},
                {"name": "cpu", "nominalQuota": "8", "borrowingLimit": "1"}]}]}]}});
        let kept = keep_quantity_spelling(&file, &live);
        let resources = kept.pointer("/spec/resourceGroups/0/flavors/0/resources");
        assert_eq!(
            resources,
            Some(
                &json!([{"name": "cpu", "nominalQuota": "8", "borrowingLimit": "1"},
                {"name": "memory", "nominalQuota": "1Gi"}])
            )
        );
        assert_eq!(
            kept.pointer("/spec/fairSharing/weight"),
            Some(&json!("500m"))
        );
        assert_eq!(kept.pointer("/spec/stopPolicy"), None);
        assert!(equal_except_spelling(
            &file,
            &queue(json!("8"), "1Gi", json!("0.5"))
        ));
        assert!(!equal_except_spelling(
            &file,
            &queue(json!("9"), "1Gi", json!("0.5"))
        ));
    }

    #[test]
    fn texts_that_are_no_quantities_are_compared_as_texts() {
        for (a, b) in [
            (
                json!({"metadata": {"labels": {"size": "1000m"}}}),
                json!({"metadata": {"labels": {"size": "1"}}}),
            ),
            (
                json!({"env": [{"name": "A", "value": "1000m"}]}),
                json!({"env": [{"name": "A", "value": "1"}]}),
            ),
            (
                json!({"preferred": [{"weight": 1}]}),
                json!({"preferred": [{"weight": "1"}]}),
            ),
            (
                json!({"data": {"a": "1Gi"}}),
                json!({"data": {"a": "1024Mi"}}),
            ),
        ] {
            assert!(!equal_except_spelling(&a, &b), "{a} and {b}");
        }
        for (a, b) in [
            (
                json!({"spec": {"hard": {"pods": 8}}}),
                json!({"spec": {"hard": {"pods": "8"}}}),
            ),
            (
                json!({"resources": {"requests": {"cpu": 0.1}}}),
                json!({"resources": {"requests": {"cpu": "100m"}}}),
            ),
            (
                json!({"limits": [{"type": "Pod", "max": {"cpu": "2000m"}}]}),
                json!({"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}),
            ),
        ] {
            assert!(equal_except_spelling(&a, &b), "{a} and {b}");
        }
    }
}
