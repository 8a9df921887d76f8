//! [`encode_as_go`]: an object of Kueue as upstream's mutating webhooks write it back.
//!
//! controller-runtime's defaulter decodes the object into its Go type, changes it, and sends the difference between the
//! object and the encoded type as a patch. That writes quantities in their canonical form (`8` becomes `"8"`) and
//! adds fields that the type always encodes; fields that the type omits are kept (`dropSchemeRemovals`).

use k8s_openapi::Resource;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as QuantityText;
use kueue_lab_quantity::Quantity;
use serde::Serialize;
use serde_json::Value;

use super::v1beta2::{ClusterQueue, ResourceFlavor};

/// Encodes the `spec` of a ClusterQueue or ResourceFlavor in v1beta2. Objects of other kinds, and those that are not of
/// the form of their kind, stay as they are.
pub(crate) fn encode_as_go(object: &mut Value) {
    let encoded = match object["kind"].as_str() {
        Some(ClusterQueue::KIND) => serde_json::from_value::<ClusterQueue>(object.clone())
            .and_then(|mut queue| {
                quantities(&mut queue).for_each(canonical);
                spec(&queue.spec)
            }),
        Some(ResourceFlavor::KIND) => serde_json::from_value::<ResourceFlavor>(object.clone())
            .and_then(|flavor| spec(&flavor.spec)),
        _ => return,
    };
    // Validation refuses the object.
    let Ok(encoded) = encoded else { return };
    if let Some(object) = object.as_object_mut() {
        merge(object.entry("spec").or_insert(Value::Null), encoded);
    }
}

fn spec(spec: &impl Serialize) -> serde_json::Result<Value> {
    serde_json::to_value(spec)
}

fn quantities(queue: &mut ClusterQueue) -> impl Iterator<Item = &mut QuantityText> {
    let weight = queue.spec.fair_sharing.as_mut();
    let weight = weight.and_then(|sharing| sharing.weight.as_mut());
    let groups = queue.spec.resource_groups.iter_mut();
    let flavors = groups.flat_map(|group| &mut group.flavors);
    let quotas = flavors.flat_map(|flavor| &mut flavor.resources);
    let quotas = quotas.flat_map(|quota| {
        let limits = [&mut quota.borrowing_limit, &mut quota.lending_limit];
        let limits = limits.into_iter().filter_map(Option::as_mut);
        std::iter::once(&mut quota.nominal_quota).chain(limits)
    });
    quotas.chain(weight)
}

/// The canonical form; an invalid quantity is left to validation.
fn canonical(text: &mut QuantityText) {
    if let Ok(parsed) = Quantity::parse(&text.0) {
        text.0 = parsed.to_string();
    }
}

/// Sets the values of `encoded`, and keeps the fields that it lacks.
fn merge(object: &mut Value, encoded: Value) {
    match (object, encoded) {
        (Value::Object(fields), Value::Object(encoded)) => {
            for (name, value) in encoded {
                merge(fields.entry(name).or_insert(Value::Null), value);
            }
        }
        (Value::Array(items), Value::Array(encoded)) if items.len() == encoded.len() => {
            for (item, encoded) in items.iter_mut().zip(encoded) {
                merge(item, encoded);
            }
        }
        (object, encoded) => *object = encoded,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quantities_are_canonical_and_zero_values_stay() {
        let mut queue = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "q"},
            "spec": {
                "cohortName": "", "namespaceSelector": {"matchLabels": {}}, "fairSharing": {"weight": 0.5},
                "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [{"name": "f", "resources": [
                    {"name": "cpu", "nominalQuota": 8, "borrowingLimit": "1000m", "lendingLimit": 0},
                    {"name": "memory"},
                ]}]}],
            },
        });
        encode_as_go(&mut queue);
        assert_eq!(
            queue["spec"],
            json!({
                "cohortName": "", "namespaceSelector": {"matchLabels": {}}, "fairSharing": {"weight": "500m"},
                "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [{"name": "f", "resources": [
                    {"name": "cpu", "nominalQuota": "8", "borrowingLimit": "1", "lendingLimit": "0"},
                    {"name": "memory", "nominalQuota": "0"},
                ]}]}],
            })
        );
        assert_eq!(queue.get("status"), None);
    }

    #[test]
    fn a_spec_that_is_no_pointer_is_always_written() {
        let mut flavor = json!({"kind": "ResourceFlavor", "metadata": {"name": "f"}});
        encode_as_go(&mut flavor);
        assert_eq!(flavor["spec"], json!({}));
    }

    #[test]
    fn other_kinds_and_malformed_objects_stay() {
        for object in [
            json!({"kind": "LocalQueue", "spec": {"fairSharing": {"weight": 1}}}),
            json!({"kind": "ClusterQueue", "spec": {"resourceGroups": 7}}),
        ] {
            let mut encoded = object.clone();
            encode_as_go(&mut encoded);
            assert_eq!(encoded, object);
        }
    }
}
