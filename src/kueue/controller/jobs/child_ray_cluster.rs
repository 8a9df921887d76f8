//! The RayCluster that KubeRay creates for a RayJob or a RayService.
//!
//! The autoscaler scales this cluster, not the job, so that an elastic job has the counts and the
//! generation of its cluster.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::PartialObjectMeta;
use kueue_lab_controller_runtime::{Api, Informer, ObjectKey, WorkQueue, controller_of};

use super::error::JobError;
use super::generic_job::PodSetCounts;
use super::integration_context::IntegrationContext;
use super::integration_manager::Gvk;
use super::ray_cluster::RayCluster;
use super::ray_cluster_spec::RayClusterSpec;
use crate::job_annotations;
use crate::object_meta;
use kueue_lab_api::constants as c;

/// Enqueues the jobs of a kind on changes of the RayClusters that they control.
pub(super) fn watch(env: &IntegrationContext, gvk: Gvk, queue: &WorkQueue<ObjectKey>) {
    let api: Api<PartialObjectMeta<RayCluster>> = Api::all(env.shared.ctx.client.clone());
    let clusters = Informer::builder(api).start(&env.shared.ctx);
    let queue = queue.clone();
    clusters.add_event_handler(move |change| {
        let meta = &change.object().metadata;
        if let Some(owner) = controller_of(meta).filter(|owner| gvk.matches_owner(owner)) {
            queue.add(ObjectKey {
                namespace: object_meta::namespace(meta).to_owned(),
                name: owner.name.clone(),
            });
        }
    });
}

async fn get(
    env: &IntegrationContext,
    job: &ObjectMeta,
    name: &str,
) -> Result<Option<RayCluster>, JobError> {
    if name.is_empty() {
        return Ok(None);
    }
    let client = env.shared.ctx.client.clone();
    let api: Api<RayCluster> = Api::namespaced(client, object_meta::namespace(job));
    match api.get(name).await.map_err(JobError::from) {
        Ok(cluster) => Ok(Some(cluster)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(JobError::Retryable(format!(
            "failed to get RayCluster {name}: {error}"
        ))),
    }
}

/// The counts of the worker groups of the cluster, if its elastic job is autoscaled.
///
/// # Errors
/// The cluster cannot be read, or has a worker group that its job does not have.
pub(super) async fn pod_set_counts(
    env: &IntegrationContext,
    job: &ObjectMeta,
    spec: &RayClusterSpec,
    name: &str,
) -> Result<PodSetCounts, JobError> {
    let mut counts = PodSetCounts::new();
    if !job_annotations::is_elastic(job, &env.gates) || !spec.is_autoscaled() {
        return Ok(counts);
    }
    let Some(cluster) = get(env, job, name).await? else {
        return Ok(counts);
    };
    for group in &cluster.spec.worker_group_specs {
        let pod_set = group.pod_set_name();
        let mut known = spec.worker_group_specs.iter();
        if !known.any(|known| known.pod_set_name() == pod_set) {
            return Err(JobError::Retryable(format!(
                "PodSet name mismatch: RayCluster {name} has worker group {} which is not found in Ray object {} spec",
                group.group_name,
                object_meta::name(job)
            )));
        }
        if group.replicas.is_some() {
            counts.insert(pod_set, group.effective_worker_count());
        }
    }
    Ok(counts)
}

/// The annotation of an elastic job with the generation of its cluster; empty without a cluster.
///
/// # Errors
/// The cluster cannot be read.
pub(super) async fn custom_annotations(
    env: &IntegrationContext,
    job: &ObjectMeta,
    name: &str,
) -> Result<BTreeMap<String, String>, JobError> {
    let cluster = get(env, job, name).await?;
    let generation = cluster.map(|cluster| cluster.metadata.generation.unwrap_or(0).to_string());
    let key = c::RAY_CLUSTER_GENERATION_ANNOTATION.to_owned();
    Ok([(key, generation.unwrap_or_default())].into())
}

/// The part of the Workload name of an elastic job: the generations of the job and of its cluster.
pub(super) fn workload_name_extra_part(job: &ObjectMeta) -> String {
    let own = job.generation.unwrap_or(0).to_string();
    match object_meta::annotation(job, c::RAY_CLUSTER_GENERATION_ANNOTATION) {
        Some(cluster) => format!("{own}_{cluster}"),
        None => own,
    }
}
