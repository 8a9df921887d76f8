//! Kueue's finalizer on the objects that Workloads use.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kueue_lab_api::constants as c;

/// Whether an object holds Kueue's finalizer.
pub(super) fn has_finalizer(meta: &ObjectMeta) -> bool {
    let finalizers = meta.finalizers.iter().flatten();
    finalizers
        .into_iter()
        .any(|f| f == c::RESOURCE_IN_USE_FINALIZER)
}

/// Adds Kueue's finalizer; false when it is there.
pub(super) fn add_finalizer(meta: &mut ObjectMeta) -> bool {
    if has_finalizer(meta) {
        return false;
    }
    let finalizers = meta.finalizers.get_or_insert_default();
    finalizers.push(c::RESOURCE_IN_USE_FINALIZER.to_owned());
    true
}

/// Removes Kueue's finalizer; false when it is not there.
pub(super) fn remove_finalizer(meta: &mut ObjectMeta) -> bool {
    let Some(finalizers) = &mut meta.finalizers else {
        return false;
    };
    let before = finalizers.len();
    finalizers.retain(|f| f != c::RESOURCE_IN_USE_FINALIZER);
    finalizers.len() != before
}
