//! The finalizer `kueue.x-k8s.io/resource-in-use`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::object_meta;
use kueue_lab_api::constants as c;

/// Whether an object has the finalizer.
pub(super) fn has_finalizer(meta: &ObjectMeta) -> bool {
    object_meta::has_finalizer(meta, c::RESOURCE_IN_USE_FINALIZER)
}

/// Adds the finalizer; false if it is present.
pub(super) fn add_finalizer(meta: &mut ObjectMeta) -> bool {
    if has_finalizer(meta) {
        return false;
    }
    let finalizers = meta.finalizers.get_or_insert_default();
    finalizers.push(c::RESOURCE_IN_USE_FINALIZER.to_owned());
    true
}

/// Removes the finalizer; false if it is absent.
pub(super) fn remove_finalizer(meta: &mut ObjectMeta) -> bool {
    let Some(finalizers) = &mut meta.finalizers else {
        return false;
    };
    let before = finalizers.len();
    finalizers.retain(|f| f != c::RESOURCE_IN_USE_FINALIZER);
    finalizers.len() != before
}
