//! Writes of jobs and their Workloads: merge patches with the resourceVersion as precondition.

use std::sync::Arc;

use kube::api::{Patch, PatchParams, PostParams};
use kueue_lab_controller_runtime::Api;
use serde_json::{Map, Value, json};

use super::error::JobError;
use super::generic_job::JobObject;
use super::go_struct::encode_as_go;
use super::integration_context::IntegrationContext;
use crate::object_meta;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::status::finish;
use kueue_lab_engine::workload::predicates;

/// The part of an object to patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatchTarget {
    /// Everything but the status.
    Object,
    /// The status.
    Status,
}

/// Patches the differences between two versions of an object; returns the result. A list that
/// differs is replaced by the one of the Go type. Without a difference no request is made.
///
/// # Errors
/// The request fails, for example with a Conflict.
pub(super) async fn patch_object<K: JobObject>(
    api: &Api<K>,
    before: &K,
    after: &K,
    part: PatchTarget,
) -> Result<K, JobError> {
    let body = merge_patch_as_go(before, after);
    if body.as_object().is_none_or(Map::is_empty) {
        return Ok(after.clone());
    }
    send_patch(api, before, part, body).await
}

/// The merge patch between the encoded Go types of two versions.
fn merge_patch_as_go<K: JobObject>(before: &K, after: &K) -> Value {
    let value = |object: &K| encode_as_go::<K>(object.to_value().unwrap_or_default());
    create_merge_patch(&value(before), &value(after))
}

/// Confirms that the object is still this version, as upstream's patch without a difference does.
///
/// # Errors
/// The object has changed or was deleted.
pub(super) async fn confirm_version<K: JobObject>(api: &Api<K>, object: &K) -> Result<K, JobError> {
    send_patch(api, object, PatchTarget::Object, json!({})).await
}

async fn send_patch<K: JobObject>(
    api: &Api<K>,
    before: &K,
    part: PatchTarget,
    mut body: Value,
) -> Result<K, JobError> {
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
    use crate::jobs::job_set::JobSet;

    /// The schema of JobSets has the default 1 for a `replicas` of 0, which Go omits.
    #[test]
    fn a_list_that_changes_is_that_of_the_go_type() {
        let template = json!({"spec": {"template": {"spec": {"containers": []}}}});
        let before: JobSet = serde_json::from_value(json!({
            "metadata": {"name": "s"},
            "spec": {"suspend": true, "replicatedJobs": [
                {"name": "a", "replicas": 0, "template": template},
            ]},
        }))
        .unwrap();
        let mut after = before.clone();
        after.spec.suspend = Some(false);
        let suspend = json!({"spec": {"suspend": false}});
        assert_eq!(merge_patch_as_go(&before, &after), suspend);
        let job = after.spec.replicated_jobs[0]
            .template
            .spec
            .as_mut()
            .unwrap();
        let pod = job.template.spec.get_or_insert_default();
        pod.node_selector = Some([("pool".to_owned(), "a".to_owned())].into());
        assert_eq!(
            merge_patch_as_go(&before, &after),
            json!({"spec": {"suspend": false, "replicatedJobs": [{
                "name": "a", "template": {"metadata": {}, "spec": {"template": {
                    "metadata": {}, "spec": {"containers": [], "nodeSelector": {"pool": "a"}},
                }}},
            }]}})
        );
    }

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
