//! [`find_workload`]: the Workload with a name, or that of the job or Pod with it.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::{Client, ResourceExt};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller_runtime::{Api, controller_of};
use kueue_lab_engine::workload::{WorkloadKey, predicates};

use super::explain_error::ExplainError;

/// The most owners that are followed from a Pod to the object that has the Workload.
const MAX_OWNERS: usize = 8;

/// The key of the Workload of `workloads` with this name, or of the newest Workload owned by a job with this name, or by an owner
/// of the Pod with this name.
///
/// # Errors
/// There is none.
pub(super) async fn find_workload(
    client: &Client,
    workloads: &[Arc<Workload>],
    namespace: &str,
    name: &str,
) -> Result<WorkloadKey, ExplainError> {
    let key = WorkloadKey::new(namespace, name);
    if workloads.iter().any(|wl| predicates::key(wl) == key) {
        return Ok(key);
    }
    if let Some(key) = newest_of(workloads, namespace, |owner| owner.name == name) {
        return Ok(key);
    }
    let of_pod = workload_of_pod(client, workloads, namespace, name).await;
    of_pod.ok_or_else(|| ExplainError::NoWorkload {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}

/// The newest Workload with an owner: a job can own several, slices and those of earlier runs.
fn newest_of(
    workloads: &[Arc<Workload>],
    namespace: &str,
    is_owner: impl Fn(&OwnerReference) -> bool,
) -> Option<WorkloadKey> {
    let owned = workloads.iter().filter(|wl| {
        predicates::namespace(wl) == namespace && wl.owner_references().iter().any(&is_owner)
    });
    let newest = owned.max_by_key(|wl| wl.creation_timestamp());
    newest.map(|wl| predicates::key(wl))
}

/// The Workload of an owner of a Pod: of its Job, of the JobSet of its Job, and so on. `None` also without the right
/// to read them.
async fn workload_of_pod(
    client: &Client,
    workloads: &[Arc<Workload>],
    namespace: &str,
    name: &str,
) -> Option<WorkloadKey> {
    // Listed, as all objects of an explanation, so that the right to list Pods is enough.
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let params = ListParams::default().fields(&format!("metadata.name={name}"));
    let listed = pods.list(&params).await.ok()?;
    let pod = listed
        .items
        .into_iter()
        .find(|pod| pod.name_any() == name)?;
    let mut owner = controller_of(&pod.metadata)?.clone();
    for _ in 0..MAX_OWNERS {
        if let Some(key) = newest_of(workloads, namespace, |of_workload| {
            of_workload.uid == owner.uid
        }) {
            return Some(key);
        }
        let (group, version) = owner
            .api_version
            .split_once('/')
            .unwrap_or(("", &owner.api_version));
        let kind = GroupVersionKind::gvk(group, version, &owner.kind);
        let kind = ApiResource::from_gvk(&kind);
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
        let object = api.get_opt(&owner.name).await.ok()??;
        owner = controller_of(&object.metadata)?.clone();
    }
    None
}
