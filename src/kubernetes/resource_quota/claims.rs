//! Usage of PersistentVolumeClaims and ResourceClaims.

use serde_json::Value;

use crate::evaluator::one;
use crate::pod_requests::{ResourceList, add_resource_list};
use kueue_lab_json::ValueExt;
use kueue_lab_quantity::Quantity;

const CLASS: &str = ".storageclass.storage.k8s.io/";
const DEVICES: &str = ".deviceclass.resource.k8s.io/devices";
const COUNT: &str = "count/resourceclaims.resource.k8s.io";

/// Whether a quota resource name is computed from PersistentVolumeClaims.
pub(crate) fn is_volume_claim_resource(name: &str) -> bool {
    let plain = name.split_once(CLASS).map_or(name, |(_, field)| field);
    matches!(plain, "persistentvolumeclaims" | "requests.storage")
        || name == "count/persistentvolumeclaims"
}

/// The usage of a PersistentVolumeClaim, in total and by storage class.
pub(crate) fn volume_claim_usage(claim: &Value) -> ResourceList {
    let mut used = ResourceList::new();
    let beta = claim.annotation("volume.beta.kubernetes.io/storage-class");
    let class = beta.unwrap_or(claim.text("/spec/storageClassName"));
    let requested = Quantity::of(claim.at("/spec/resources/requests/storage"));
    let given = Quantity::of(claim.at("/status/allocatedResources/storage"));
    used.insert("count/persistentvolumeclaims".into(), one());
    let mut both = |name: &str, amount: Quantity| {
        used.insert(name.into(), amount);
        if !class.is_empty() {
            used.insert(format!("{class}{CLASS}{name}"), amount);
        }
    };
    both("persistentvolumeclaims", one());
    if let Some(requested) = requested {
        both(
            "requests.storage",
            given.map_or(requested, |g| g.max(requested)),
        );
    }
    used
}

/// Whether a quota resource name is computed from ResourceClaims.
pub(crate) fn is_resource_claim_resource(name: &str) -> bool {
    name == COUNT || name.ends_with(DEVICES)
}

/// The usage of a ResourceClaim: the maximum number of allocated devices, by device class.
pub(crate) fn resource_claim_usage(claim: &Value) -> ResourceList {
    let mut used = ResourceList::new();
    used.insert(COUNT.into(), one());
    for request in claim.list("/spec/devices/requests") {
        let exactly = request.at("/exactly");
        if exactly.is_object() {
            add_device_request(&mut used, exactly);
        }
        // Of `firstAvailable` subrequests, the maximum of each device class counts.
        let mut most = ResourceList::new();
        for alternative in request.list("/firstAvailable") {
            let mut alone = ResourceList::new();
            add_device_request(&mut alone, alternative);
            for (name, amount) in alone {
                let largest = most.get(&name).map_or(amount, |had| amount.max(*had));
                most.insert(name, largest);
            }
        }
        add_resource_list(&mut used, &most);
    }
    used
}

/// The devices of one request; allocation mode `All` counts as the maximum of a claim.
fn add_device_request(used: &mut ResourceList, request: &Value) {
    const ALL: i64 = 32;
    let count = match request.text("/allocationMode") {
        "All" => ALL,
        _ => request.at("/count").as_i64().unwrap_or(1),
    };
    let name = format!("{}{DEVICES}", request.text("/deviceClassName"));
    let mut more = ResourceList::new();
    more.insert(name, Quantity::from_value(count));
    add_resource_list(used, &more);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn volumes_count_for_their_class() {
        let claim = json!({"spec": {"storageClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}}}});
        let used = volume_claim_usage(&claim);
        assert_eq!(
            used["fast.storageclass.storage.k8s.io/requests.storage"].to_string(),
            "1Gi"
        );
        assert!(used.keys().all(|name| is_volume_claim_resource(name)));
        assert!(!is_volume_claim_resource("requests.cpu"));
    }

    #[test]
    fn devices() {
        let claim = json!({"spec": {"devices": {"requests": [
            {"exactly": {"deviceClassName": "gpu", "count": 2}},
            {"firstAvailable": [{"deviceClassName": "gpu", "count": 1}, {"deviceClassName": "gpu", "count": 4}]}]}}});
        let used = resource_claim_usage(&claim);
        assert_eq!(
            used["gpu.deviceclass.resource.k8s.io/devices"].to_string(),
            "6"
        );
        assert!(used.keys().all(|name| is_resource_claim_resource(name)));
    }
}
