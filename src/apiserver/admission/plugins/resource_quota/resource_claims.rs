//! Usage of resource claims (DRA).

use kueue_lab_quantity::Quantity;
use serde_json::Value;

use super::evaluator::one;
use crate::apimachinery::value_ext::ValueExt;
use crate::kinds::pod::pod_requests::ResourceList;

const DEVICES: &str = ".deviceclass.resource.k8s.io/devices";

const COUNT: &str = "count/resourceclaims.resource.k8s.io";

/// Whether a quota on that name is about device claims.
pub(crate) fn is_resource_claim_resource(name: &str) -> bool {
    name == COUNT || name.ends_with(DEVICES)
}

/// What a device claim uses: the most devices it may get, by class.
pub(crate) fn resource_claim_usage(claim: &Value) -> ResourceList {
    let mut used = ResourceList::new();
    used.insert(COUNT.into(), one());
    for request in claim.list("/spec/devices/requests") {
        let exactly = request.at("/exactly");
        if exactly.is_object() {
            add_device_request(&mut used, exactly);
        }
        // Of alternatives the largest of each class counts.
        let mut most = ResourceList::new();
        for alternative in request.list("/firstAvailable") {
            let mut alone = ResourceList::new();
            add_device_request(&mut alone, alternative);
            for (name, amount) in alone {
                let largest = most.get(&name).map_or(amount, |had| amount.max(*had));
                most.insert(name, largest);
            }
        }
        crate::kinds::pod::pod_requests::add_resource_list(&mut used, &most);
    }
    used
}

/// The devices of one request; all of a node's count as many as a claim can have.
fn add_device_request(used: &mut ResourceList, request: &Value) {
    const ALL: i64 = 32;
    let count = match request.text("/allocationMode") {
        "All" => ALL,
        _ => request.at("/count").as_i64().unwrap_or(1),
    };
    let name = format!("{}{DEVICES}", request.text("/deviceClassName"));
    let mut more = ResourceList::new();
    more.insert(name, Quantity::from_value(count));
    crate::kinds::pod::pod_requests::add_resource_list(used, &more);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
