//! Usage of persistent volume claims.

use kueue_lab_quantity::Quantity;
use serde_json::Value;

use super::evaluator::one;
use crate::apimachinery::value_ext::ValueExt;
use crate::kinds::pod::pod_requests::ResourceList;

const CLASS: &str = ".storageclass.storage.k8s.io/";

/// Whether a quota on that name is about volume claims.
pub(crate) fn is_volume_claim_resource(name: &str) -> bool {
    let plain = name.split_once(CLASS).map_or(name, |(_, field)| field);
    matches!(plain, "persistentvolumeclaims" | "requests.storage")
        || name == "count/persistentvolumeclaims"
}

/// What a volume claim uses, in all and of its class.
pub(crate) fn volume_claim_usage(claim: &Value) -> ResourceList {
    let mut used = ResourceList::new();
    let beta = claim.annotation("volume.beta.kubernetes.io/storage-class");
    let class = beta.unwrap_or(claim.text("/spec/storageClassName"));
    let asked = Quantity::of(claim.at("/spec/resources/requests/storage"));
    let given = Quantity::of(claim.at("/status/allocatedResources/storage"));
    used.insert("count/persistentvolumeclaims".into(), one());
    let mut both = |name: &str, amount: Quantity| {
        used.insert(name.into(), amount);
        if !class.is_empty() {
            used.insert(format!("{class}{CLASS}{name}"), amount);
        }
    };
    both("persistentvolumeclaims", one());
    if let Some(asked) = asked {
        both("requests.storage", given.map_or(asked, |g| g.max(asked)));
    }
    used
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
}
