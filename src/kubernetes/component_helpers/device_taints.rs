//! Taints of devices, as `k8s.io/dynamic-resource-allocation/resourceclaim` tolerates them.

use k8s_openapi::api::resource::v1::{DeviceTaint, DeviceToleration};

/// Whether a toleration tolerates a taint.
pub fn tolerates_taint(toleration: &DeviceToleration, taint: &DeviceTaint) -> bool {
    let set = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
    if set(&toleration.effect).is_some_and(|effect| effect != taint.effect)
        || set(&toleration.key).is_some_and(|key| key != taint.key)
    {
        return false;
    }
    match toleration.operator.as_deref().unwrap_or("Equal") {
        "" | "Equal" => set(&toleration.value) == set(&taint.value),
        "Exists" => true,
        _ => false,
    }
}
