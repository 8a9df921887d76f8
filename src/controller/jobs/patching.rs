//! Writes of jobs and their Workloads: merge patches with the resourceVersion as precondition.

use std::sync::Arc;

use kube::api::{Patch, PatchParams, PostParams};
use kueue_lab_runtime::Api;
use serde_json::{Map, Value, json};

use super::error::JobError;
use super::generic_job::JobObject;
use super::integration_context::IntegrationContext;
use crate::object_meta;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_admission::status::finish;
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;

/// The part of an object to patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatchTarget {
    /// Everything but the status.
    Object,
    /// The status.
    Status,
}

/// Patches the differences between two versions of an object; returns the result.
///
/// # Errors
/// The request fails, for example with a Conflict.
pub(super) async fn patch_object<K: JobObject>(
    api: &Api<K>,
    before: &K,
    after: &K,
    part: PatchTarget,
) -> Result<K, JobError> {
    let value = |object: &K| object.to_value().unwrap_or_default();
    let mut body = create_merge_patch(&value(before), &value(after));
    if body.as_object().is_none_or(Map::is_empty) {
        return Ok(after.clone());
    }
    body["metadata"]["resourceVersion"] = json!(before.meta().resource_version);
    let name = object_meta::name(before.meta());
    let (params, body) = (PatchParams::default(), Patch::Merge(&body));
    let written = match part {
        PatchTarget::Object => api.patch(name, &params, &body).await?,
        PatchTarget::Status => api.patch_status(name, &params, &body).await?,
    };
    Ok(written)
}

/// The merge patch (RFC 7386) from `before` to `after`.
pub(crate) fn create_merge_patch(before: &Value, after: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return after.clone();
    };
    let mut patch = Map::new();
    for (name, value) in new {
        match old.get(name) {
            Some(same) if same == value => {}
            Some(other) => {
                patch.insert(name.clone(), create_merge_patch(other, value));
            }
            None => {
                patch.insert(name.clone(), value.clone());
            }
        }
    }
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    Value::Object(patch)
}

/// Replaces a Workload.
///
/// # Errors
/// The request fails, for example with a Conflict.
pub(super) async fn update_workload(
    env: &IntegrationContext,
    wl: &Workload,
) -> Result<Arc<Workload>, JobError> {
    let api = workload_patching::workload_api(&env.shared, predicates::namespace(wl));
    let written = api
        .replace(predicates::name(wl), &PostParams::default(), wl)
        .await?;
    let written = Arc::new(written);
    env.shared
        .informers
        .workloads
        .observe_write(written.clone());
    Ok(written)
}

/// Removes Kueue's finalizer from a Workload.
///
/// # Errors
/// The request fails, for example with a Conflict.
pub(super) async fn remove_finalizer(
    env: &IntegrationContext,
    wl: &Workload,
) -> Result<(), JobError> {
    if !object_meta::has_finalizer(&wl.metadata, c::RESOURCE_IN_USE_FINALIZER) {
        return Ok(());
    }
    let mut without_finalizer = wl.clone();
    let finalizers = without_finalizer.metadata.finalizers.iter_mut();
    finalizers.for_each(|list| list.retain(|f| f != c::RESOURCE_IN_USE_FINALIZER));
    let api = workload_patching::workload_api(&env.shared, predicates::namespace(wl));
    api.replace(
        predicates::name(wl),
        &PostParams::default(),
        &without_finalizer,
    )
    .await?;
    Ok(())
}

/// Sets the Finished condition of a Workload.
///
/// # Errors
/// The request fails, for example with a Conflict.
pub(super) async fn finish_workload(
    env: &IntegrationContext,
    wl: &Workload,
    reason: &str,
    message: &str,
) -> Result<(), JobError> {
    let now = env.shared.now();
    workload_patching::patch_admission_status(&env.shared, wl, StatusApplyMode::Strict, |wl| {
        finish(wl, reason, message, now)
    })
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applying_the_merge_patch_gives_the_new_version() {
        let before = json!({"a": 1, "b": {"x": [1, 2], "y": "k"}, "c": true, "e": {"f": 1}});
        let after =
            json!({"a": 1, "b": {"x": [1], "y": "k", "z": 0}, "d": {"n": 1}, "e": {"f": 1}});
        let patch = create_merge_patch(&before, &after);
        assert_eq!(
            patch,
            json!({"b": {"x": [1], "z": 0}, "c": null, "d": {"n": 1}})
        );
        let mut merged = before;
        json_patch::merge(&mut merged, &patch);
        assert_eq!(merged, after);
    }
}
